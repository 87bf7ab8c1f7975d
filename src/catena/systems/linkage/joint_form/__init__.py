"""The joint form of a linkage: coordinates of the joints, and the articulated-body recursion."""
