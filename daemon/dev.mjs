/**
 * `npm run dev`: a server that restarts when a source changes, and the page with hot reload. Its data is in .dev, apart from your own
 * board. Options of `board serve` follow after `--`: `npm run dev -- --log-level debug`.
 */
import react from '@vitejs/plugin-react'
import { context } from 'esbuild'
import { spawn } from 'node:child_process'
import { createServer as createTcpServer } from 'node:net'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createServer } from 'vite'
import { programs } from './programs.mjs'
import { pageOptions } from './web/build.mjs'

/** A restart waits this long for other programs that the same change rebuilds. */
const settleMs = 200
const dataDir = resolve(process.env.BOARD_DATA_DIR ?? '.dev')
const port = await findFreePort()
const url = `http://127.0.0.1:${port}`
let server
let restart
let restarting = Promise.resolve()

await Promise.all(programs.map(watchProgram))
const page = await createServer({
  ...pageOptions,
  plugins: [...pageOptions.plugins, react()],
  server: { host: '127.0.0.1', port: 5173, proxy: { '/api': { target: url, ws: true } } },
})
await page.listen()
process.stdout.write(`
Page, with hot reload:  ${page.resolvedUrls.local[0]}
Command line:           BOARD_DATA_DIR=${dataDir} node bin/board.js cards list
`)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)

async function watchProgram(options) {
  const onEnd = ({ errors }) => {
    if (errors.length === 0) scheduleRestart()
  }
  const plugins = [...(options.plugins ?? []), { name: 'restart', setup: build => build.onEnd(onEnd) }]
  await (await context({ ...options, minify: false, plugins })).watch()
}

function scheduleRestart() {
  clearTimeout(restart)
  restart = setTimeout(() => (restarting = restarting.then(restartServer)), settleMs)
}

async function restartServer() {
  await stopServer()
  const args = ['bin/board.js', 'serve', '--port', String(port), '--data-dir', dataDir, ...process.argv.slice(2)]
  server = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

async function stopServer() {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
}

async function stop() {
  clearTimeout(restart)
  await restarting
  await Promise.all([stopServer(), page.close()])
  process.exit()
}

async function findFreePort() {
  const probe = createTcpServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}
