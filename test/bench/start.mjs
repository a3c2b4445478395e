import { build } from 'esbuild'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkOut } from './checkOut.mjs'

// Node 20 cannot run TypeScript, and the server under test must run as shipped: bundled, and with NODE_ENV set to production.
const here = import.meta.dirname
const root = resolve(here, '../..')
const folder = mkdtempSync(join(tmpdir(), 'board-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

const options = { bundle: true, platform: 'node', target: 'node20.19', legalComments: 'none', logLevel: 'warning' }

const bundle = async (tree, into, names) => {
  symlinkSync(join(tree, 'node_modules'), join(into, 'node_modules'), 'junction')
  // The server reads the program of its worktree processes from its own folder.
  if (existsSync(join(tree, 'src', 'worktrees', 'worktreeProgram.ts')))
    await build({
      ...options,
      entryPoints: { worktree: join(tree, 'src', 'worktrees', 'worktreeProgram.ts') },
      outdir: into,
      outExtension: { '.js': '.cjs' },
    })
  await build({
    ...options,
    entryPoints: names.map(name => join(tree, 'test', 'bench', `${name}.ts`)),
    outdir: into,
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    external: ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm', 'playwright-core'],
    define: { 'process.env.NODE_ENV': '"production"' },
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);",
    },
  })
}
await bundle(root, folder, ['main', 'server', 'floor'])
const { runBench } = await import(pathToFileURL(join(folder, 'main.mjs')).href)
await runBench({
  folder,
  board: join(root, 'bin', 'board.js'),
  web: join(root, 'dist', 'web'),
  meter: join(here, 'meter.js'),
  trace: join(here, 'processTrace.mjs'),
  firstWord: join(root, 'test', 'fixtures', 'agents', 'first-word.mjs'),
  flood: join(root, 'test', 'fixtures', 'agents', 'flood.mjs'),
  buildCommit: async commit => {
    const [tree, into] = [join(folder, 'tree'), join(folder, 'commit')]
    checkOut(root, commit, tree)
    mkdirSync(into)
    await bundle(tree, into, ['server', 'seed'])
    return into
  },
  argv: process.argv.slice(2),
})
