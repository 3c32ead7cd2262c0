from autograd_lint.cli import main

main()
