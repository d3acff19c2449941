"""What puts load on a master: `wrk` where it is installed, else a small client of ours."""
