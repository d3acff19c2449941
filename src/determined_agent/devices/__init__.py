"""Detecting slots: CUDA, ROCm, CPU, artificial."""
