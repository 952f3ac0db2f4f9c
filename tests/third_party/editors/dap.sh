# Emacs with dap-mode, with the settings of editors/README.md.
block emacs-lisp >dap.settings.el
cd "$workspace"
HOME=$scratch timeout 90 emacs --batch --eval '(package-initialize)' -l "$scratch/checks.el" -l "$scratch/dap.settings.el" -l "$scratch/dap.el" 2>"$scratch/dap.log" || tail -n 20 "$scratch/dap.log"
