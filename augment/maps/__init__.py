"""What an op does to an image, as an object that moves images and labels."""
