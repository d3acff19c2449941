"""One module a figure; `bench.registry` lists them."""
