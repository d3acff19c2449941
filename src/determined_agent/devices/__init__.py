"""Finding slots: CUDA, ROCm, CPU, artificial."""
