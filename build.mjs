import { build } from 'esbuild'
import { rmSync } from 'node:fs'

// What stays outside of the bundle has native parts, or finds files beside itself.
const external = ['libsql', '@libsql/*', '@node-rs/argon2', 'listhen']
const startedAtMs = performance.now()

// Ink asks for its developer tools by a conditional import that never happens in production.
const withoutDevtools = {
  name: 'without-devtools',
  setup(bundler) {
    bundler.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {}' }))
  },
}

rmSync('dist', { recursive: true, force: true })
await build({
  entryPoints: { main: 'cli/main.ts' }, outdir: 'dist', chunkNames: 'chunks/[name]-[hash]', bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.19',
  jsx: 'automatic', external, plugins: [withoutDevtools], define: { 'process.env.NODE_ENV': '"production"' }, minifySyntax: true, minifyWhitespace: true, legalComments: 'none', logLevel: 'warning',
  // CommonJS packages in the bundle call require, which a module does not have.
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
})
console.log(`Built dist in ${Math.round(performance.now() - startedAtMs)} ms.`)
