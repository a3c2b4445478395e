import { build } from 'esbuild'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// What stays outside of the bundle has native parts, or finds files beside itself.
const external = ['libsql', '@libsql/*', '@node-rs/argon2', 'listhen', 'jq-wasm']

// Ink asks for its developer tools by a conditional import that never happens in production.
const withoutDevtools = {
  name: 'without-devtools',
  setup(bundler) {
    bundler.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {}' }))
  },
}

const startedAtMs = performance.now()
const { metafile } = await build({
  entryPoints: { main: 'cli/main.ts' }, outdir: 'dist', chunkNames: 'chunks/[name]-[hash]', bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.19',
  jsx: 'automatic', external, plugins: [withoutDevtools], define: { 'process.env.NODE_ENV': '"production"' }, minifySyntax: true, minifyWhitespace: true,
  legalComments: 'none', logLevel: 'warning', metafile: true,
  // CommonJS packages in the bundle call require, which a module does not have.
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
})

// What an older build left is removed last, so that a program that runs meanwhile finds its parts.
const written = new Set(Object.keys(metafile.outputs).map(path => join(path)))
for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (entry.isFile() && !written.has(path)) rmSync(path)
}
console.log(`Built dist in ${Math.round(performance.now() - startedAtMs)} ms.`)
