/** How the programs in dist/ are built from the sources. `build.mjs` builds them once, and `daemon/dev.mjs` again after each change. */
import manifest from '../package.json' with { type: 'json' }

export const folder = 'dist'

/** The options of esbuild that all programs share. */
export const options = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  jsx: 'automatic',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  outdir: folder,
  // listhen would watch and run sources with jiti and the watcher. They are not installed.
  external: [...Object.keys(manifest.dependencies), 'jiti', '@parcel/watcher-wasm'],
  define: { 'process.env.NODE_ENV': '"production"' },
}
const modules = {
  ...options,
  format: 'esm',
  // Bundled CommonJS packages call require, which an ES module does not have.
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
}
const commonJs = { ...options, format: 'cjs', outExtension: { '.js': '.cjs' } }

/** The options of esbuild for each group of programs. */
export const programs = [
  // A command loads only the parts that it uses.
  {
    ...modules,
    entryPoints: { board: 'cli/main.ts' },
    splitting: true,
    chunkNames: 'parts/[name]-[hash]',
    plugins: [{ name: 'without-ink-devtools', setup: emptyInkDevtools }],
  },
  // One file: the server never loads a part later, when no file descriptor might be free.
  { ...modules, entryPoints: { server: 'daemon/program.ts' } },
  // Each program is complete in one file: the watchdog can outlive the folder of the board, and a sandbox contains no other file of the
  // board.
  {
    ...commonJs,
    entryPoints: { watchdog: 'src/process/watchdogProgram.ts', worktree: 'src/worktrees/worktreeProgram.ts' },
  },
  // The server passes these programs to threads as text, which has no path. They resolve packages from the path of the server's file.
  {
    ...commonJs,
    entryPoints: { archiver: 'src/backups/archiverProgram.ts', markdown: 'src/transfers/formats/markdownProgram.ts' },
    define: { ...options.define, 'import.meta.url': 'moduleUrl' },
    banner: { js: "const{moduleUrl}=require('node:worker_threads').workerData;(require=>{" },
    footer: { js: "})(require('node:module').createRequire(moduleUrl))" },
  },
]

/** ink loads its developer tools if DEV is set. They require a package that is not installed. */
function emptyInkDevtools({ onLoad }) {
  onLoad({ filter: /\/ink\/build\/devtools\.js$/ }, () => ({ contents: '' }))
}
