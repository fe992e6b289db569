"""What is watched while load runs, a file each; every one states its cost and the privileges it needs."""
