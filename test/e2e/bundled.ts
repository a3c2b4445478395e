import { build } from 'esbuild'
import { copyFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Bundles a program from a test file, in a separate folder, like the build of the server: Node 20 cannot run TypeScript. */
export async function bundled(source: string, folder: string): Promise<string> {
  const outfile = join(folder, 'program.mjs')
  // A server reads the program of its worktree processes from its own folder.
  copyFileSync('dist/worktree.cjs', join(folder, 'worktree.cjs'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction')
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm'],
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
    banner: {
      js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);",
    },
  })
  return outfile
}
