"""`det deploy aws`: a cluster in an account of AWS, as one stack of CloudFormation."""
