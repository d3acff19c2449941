"""The apptainer runtime: tasks in Apptainer containers under a shim."""
