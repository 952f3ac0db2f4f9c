# Neovim, with the settings of editors/README.md.
block lua >neovim.settings.lua
nvim --version | head -n 1
cd "$workspace"
HOME=$scratch ANSWERS=neovim.said timeout 60 nvim --headless --noplugin -u "$scratch/neovim.settings.lua" -c "luafile $scratch/neovim.lua" tickets.md </dev/null || true
cat neovim.said
