# Emacs with eglot, with the settings of editors/README.md.
block elisp >emacs.settings.el
emacs --version | head -n 1
cd "$workspace"
HOME=$scratch timeout 90 emacs --batch --eval '(package-initialize)' -l "$scratch/checks.el" -l "$scratch/emacs.settings.el" -l "$scratch/emacs.el" 2>"$scratch/emacs.log" || tail -n 20 "$scratch/emacs.log"
