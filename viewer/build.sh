#!/bin/sh
# Bundles the viewer into the package. Needs node and npm; users of catena need neither.
set -eu
cd "$(dirname "$0")"
target="${1:-../src/catena/output/page}"
[ -d node_modules/three ] || npm install --no-package-lock --ignore-scripts --no-audit --no-fund
bundle() {
  node_modules/.bin/esbuild "$1" --bundle --minify --charset=ascii --target=es2020 --format=iife \
    --legal-comments=none --log-level=warning --outfile="$2"
}
bundle src/main.js "$target/viewer.min.js"
bundle src/style.css "$target/viewer.min.css"
{
  echo "viewer.min.js contains three.js $(node -p "JSON.parse(require('fs').readFileSync('node_modules/three/package.json')).version"), under this licence:"
  echo
  cat node_modules/three/LICENSE
} > "$target/viewer.licence.txt"
