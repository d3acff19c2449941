"""`det deploy kubernetes`: installs the chart with Helm."""
