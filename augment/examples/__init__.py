"""Training scripts to copy from: classification, detection and segmentation, on data that they make themselves."""
