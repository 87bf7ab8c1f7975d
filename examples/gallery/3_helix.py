"""
A helix, stretched and twisted
==============================

Tetrahedra along a helix, held together by the attraction of their particles, are pulled until they come apart, and turned at
one end.
"""

import matplotlib.pyplot as plt

import catena as ct

# %%
# The pull has a maximum: beyond 12.26 there is no equilibrium. The lowest eigenvalue does not announce it; it *rises*, as for
# a string that is tightened, until another mode falls through zero.
helix = ct.problems.helix_chain(8)
pulled = helix.system.equilibrium_path((1.0, 0.0, 0.0), start=helix.start)
print(pulled)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
pulled.plot(ax=left)
right.plot(pulled.extension, pulled.lowest, marker="o", markersize=3)
right.axhline(0.0, color="0.6", linewidth=0.8)
right.set(xlabel="extension", ylabel=r"lowest eigenvalue $\omega^2$")

# %%
# The last body of a longer helix is held and turned about the axis, in both directions. A helix has a handedness: winding it
# takes another torque than unwinding it.
held = ct.problems.helix_chain(16, right="clamped")
figure, ax = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
for turn in (1.0, -1.0):
    path = held.system.equilibrium_path((turn, 0.0, 0.0, 0.0, 0.0, 0.0), to=1.2, start=held.start)
    ax.plot(turn * path.extension, turn * path.load, marker="o", markersize=3, color="tab:blue")
    print(path)
ax.set(xlabel="turn of the last body in radians", ylabel="torque")

# %%
# Stretch and twist are coupled: a pull turns the free end. The rod of the chain says by how much, here for a small pull on 32
# bodies:
chain = ct.problems.helix_chain(32)
rod = chain.system.rod_limit(at=chain.start)
(stretch, coupling), (_, twist) = rod.stretch_twist
print(rod)
print("turn per length and pull of the rod:", -coupling / (stretch * twist - coupling**2))

# %%
# The pulled helix up to its limit. You can turn and play it:
pulled.view()
