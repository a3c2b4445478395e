import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'
import { makeCertificate, noOpenssl } from './certificate.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The reason why there is no proxy here, or undefined. */
export const noProxy: string | undefined =
  noOpenssl ?? (spawnSync('nginx', ['-v']).error ? 'there is no nginx' : undefined)
if (noProxy !== undefined) reportSkipped('Tests behind a proxy', noProxy)

/** nginx with TLS in front of a board, below the path /board, configured as in the page on operations. */
export interface Proxy {
  url: string
  /** The file of its self-signed certificate. */
  certificate: string
  /** Forwards to the board at this address from now on. */
  start(boardUrl: string): Promise<void>
  close(): Promise<void>
}

export async function proxyIn(root: string): Promise<Proxy> {
  const { cert, key } = makeCertificate(root, ['DNS:localhost'])
  const port = await freePort()
  let stop = async () => {}
  return {
    url: `https://localhost:${port}/board`,
    certificate: cert,
    start: async boardUrl => {
      const server = /```nginx\n([\s\S]*?)```/
        .exec(readFileSync(resolve('docs/operations.md'), 'utf8'))![1]!
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replace('board.example.org', 'localhost')
        .replace('/etc/ssl/board.pem', cert)
        .replace('/etc/ssl/board.key', key)
        .replaceAll('http://127.0.0.1:4400', boardUrl)
      stop = await runNginx(root, server, port)
    },
    close: () => stop(),
  }
}

/** Starts nginx with these servers and its files in a folder, and waits until it answers on the port. @returns a function that ends it */
export async function runNginx(root: string, servers: string, port: number): Promise<() => Promise<void>> {
  writeFileSync(join(root, 'nginx.conf'), configuration(root, servers))
  const nginx = spawn('nginx', ['-p', root, '-c', join(root, 'nginx.conf'), '-g', 'daemon off;'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await eventually('nginx', () => answers(port))
  return async () => {
    nginx.kill('SIGTERM')
    await once(nginx, 'exit')
  }
}

function configuration(root: string, servers: string): string {
  const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${root}/${name};`)
    .join(' ')
  // Otherwise it would drop root's account, and could not access the files of a test.
  const user = process.getuid?.() === 0 ? 'user root root;\n' : ''
  return `${user}pid ${root}/nginx.pid;\nerror_log ${root}/error.log;\nevents {}\nhttp { access_log ${root}/access.log; ${own}\n${servers} }\n`
}

export const answers = (port: number): Promise<boolean> =>
  new Promise(done => {
    const probe = connect(port, '127.0.0.1', () => {
      probe.destroy()
      done(true)
    }).on('error', () => done(false))
  })

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
