import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'

const forged = '{"level":"error","message":"FORGED"}'
const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
/** Servers in both log formats: JSON and text. */
const servers = {
  json: { folder: '', url: '', token: '', out: '', stop: async () => {} },
  pretty: { folder: '', url: '', token: '', out: '', stop: async () => {} },
}
const clientOf = ({ url, token }: typeof servers.json): Client => createClient({ url, token })

beforeAll(async () => {
  await Promise.all(
    Object.entries(servers).map(async ([format, server]) => {
      const folder = (server.folder = mkdtempSync(join(tmpdir(), 'board-log-')))
      const child = spawn(
        process.execPath,
        [
          program,
          'serve',
          '--port',
          '0',
          '--data-dir',
          join(folder, 'data'),
          '--log-level',
          'info',
          '--log-format',
          format,
        ],
        { cwd: folder, env: { PATH: process.env.PATH, HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
      )
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          server.out += text
        })
      const runtime = () => {
        try {
          return JSON.parse(readFileSync(join(folder, 'data', 'daemon.json'), 'utf8')) as { url: string; token: string }
        } catch {
          return undefined
        }
      }
      Object.assign(server, await eventually('a server', runtime, 15_000))
      const ended = new Promise<void>(done => child.once('exit', () => done()))
      server.stop = () => {
        child.kill('SIGTERM')
        return ended
      }
    }),
  )
})
afterAll(async () => {
  for (const { stop, folder } of Object.values(servers)) {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Raw bytes, which `fetch` cannot send. */
const write = (url: string, bytes: string) =>
  new Promise<void>(done => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(bytes, 'latin1'))
    socket
      .on('error', () => done())
      .on('close', () => done())
      .resume()
  })
const hostile = `x\r\n${forged}\n\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e`

it("client input neither forges a line of the log nor controls the reader's terminal, and the log holds no token", async () => {
  const secret = 'svc_st_canary0123456789canary0123456789'
  for (const server of Object.values(servers)) {
    const { url, token } = server
    const client = clientOf(server)
    const path = encodeURIComponent(hostile)
    const ask = (way: string, init: RequestInit = {}) =>
      fetch(url + way, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
      }).then(reply => reply.text())
    await ask(`/api/${path}?token=${secret}&x=${path}`)
    await ask(`/api/projects/${path}`)
    await ask('/api/auth/login', { method: 'POST', body: JSON.stringify({ email: hostile, password: secret }) })
    await ask('/api/auth/login', {
      method: 'POST',
      body: JSON.stringify({ email: 'a@example.org', password: hostile }),
      headers: {
        'user-agent': `${forged} ${secret}`,
        referer: `http://127.0.0.1/?token=${secret}`,
        'x-forwarded-for': `1.2.3.4 ${forged} \u009b31m`,
        'x-request-id': forged,
      },
    })
    await ask('/api/projects', {
      method: 'POST',
      body: JSON.stringify({ name: hostile, path: `/nonexistent/${hostile}` }),
    })
    await ask('/api/projects', { method: 'POST', body: `{"name":"${secret}` })
    await ask('/api/auth/me', { headers: { authorization: `Bearer ${secret}` } })
    await write(url, `GET /api/x\u001b[31m${forged} HTTP/1.1\r\nHost: localhost\r\nReferer: ?token=${secret}\r\n\r\n`)
    await write(url, `${forged}\n${forged}\r\n\r\n`)
    const live = await openSocket(url, secret)
    await live.untilClosed()
    const { id: projectId } = await client.projects.create({ name: 'P', path: server.folder })
    await client.scripts.create({ projectId, name: hostile.replace(/[\r\n]/g, ' '), command: 'true' })
    await client.logs.list({ search: 'sign-in' })
    await eventually('the request in the log', async () =>
      (await client.logs.list({ limit: 100 })).some(({ message }) => message.includes('sign-in')),
    )
  }
  await servers.pretty.stop()
  await servers.json.stop()
  for (const { out, folder } of Object.values(servers)) {
    const files = readdirSync(join(folder, 'data', 'logs'), { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => readFileSync(join(folder, 'data', 'logs', name), 'utf8'))
    expect(files.join('').length).toBeGreaterThan(500)
    for (const text of [out, ...files]) {
      expect(text.split('\n').filter(line => line.startsWith('{"level":"error","message":"FORGED"'))).toEqual([])
      // oxlint-disable-next-line no-control-regex -- the pattern matches terminal control characters
      expect(text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/g)).toBeNull()
      expect(text).not.toContain('canary0123456789')
    }
    for (const line of files.join('').split('\n').filter(Boolean))
      expect(() => JSON.parse(line) as unknown, line).not.toThrow()
  }
})
