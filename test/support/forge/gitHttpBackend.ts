import { spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Answers one request of Git with Git's own program for it (CGI, RFC 3875). */
export function answerWithGit(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query, repository, user }: { path: string; query: string; repository: string; user: string | undefined },
): Promise<void> {
  const { headers } = request
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repository,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      REMOTE_ADDR: '127.0.0.1',
      CONTENT_TYPE: headers['content-type'] ?? '',
      ...(user !== undefined && { REMOTE_USER: user }),
      ...(headers['content-length'] !== undefined && { CONTENT_LENGTH: headers['content-length'] }),
      ...(headers['content-encoding'] !== undefined && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
      ...(headers['git-protocol'] !== undefined && { GIT_PROTOCOL: `${headers['git-protocol']}` }),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    const fields = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const)
    const status = fields.find(([name]) => name === 'Status')?.[1]
    response.writeHead(
      status ? Number.parseInt(status, 10) : 200,
      Object.fromEntries(fields.filter(([name]) => name !== 'Status')),
    )
    response.write(head.subarray(end + 4))
    head = undefined
  })
  response.once('close', () => child.kill())
  return new Promise(resolve =>
    child.once('close', () => {
      if (head !== undefined) response.writeHead(500)
      response.end(resolve)
    }),
  )
}
