import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../waiting/eventually.ts'
import { answers, freePort, runNginx } from './proxy.ts'

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find(path => existsSync(path))
const lacks = (program: string): boolean => spawnSync(program, ['-h']).error !== undefined

/** The reason why Git cannot be served over HTTP here, or undefined. */
export const noGitOverHttp: string | undefined = lacks('nginx')
  ? 'there is no nginx'
  : lacks('fcgiwrap')
    ? 'there is no fcgiwrap'
    : undefined
/** The reason why Git cannot be served over SSH here, or undefined. */
export const noGitOverSsh: string | undefined =
  sshd === undefined ? 'there is no sshd' : lacks('ssh-agent') ? 'there is no ssh-agent' : undefined

/** Serves the bare repositories of a folder. */
export interface GitServer {
  /** The base address: each repository is at NAME.git below it. */
  url: string
  /** The server's own log. */
  log(): string
  close(): Promise<void>
}

/** git-http-backend behind nginx, for one user, who signs in with name and password. */
export async function serveGitOverHttp(
  folder: string,
  repositories: string,
  { user, password }: { user: string; password: string },
): Promise<GitServer> {
  mkdirSync(folder, { recursive: true })
  const [port, cgiPort] = [await freePort(), await freePort()]
  const bridge = spawn('fcgiwrap', ['-f', '-s', `tcp:127.0.0.1:${cgiPort}`], {
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'inherit', 'ignore'],
  })
  await eventually('fcgiwrap', () => answers(cgiPort))
  writeFileSync(join(folder, 'users'), `${user}:{PLAIN}${password}\n`)
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')
  const parameters = {
    SCRIPT_FILENAME: backend,
    GIT_PROJECT_ROOT: repositories,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: '$uri',
    QUERY_STRING: '$query_string',
    REQUEST_METHOD: '$request_method',
    CONTENT_TYPE: '$content_type',
    CONTENT_LENGTH: '$content_length',
    REMOTE_USER: '$remote_user',
    REMOTE_ADDR: '$remote_addr',
  }
  const lines = Object.entries(parameters).map(([name, value]) => `fastcgi_param ${name} ${value};`)
  const stop = await runNginx(
    folder,
    `server { listen 127.0.0.1:${port}; client_max_body_size 0; location / {
auth_basic "Git"; auth_basic_user_file ${folder}/users; fastcgi_pass 127.0.0.1:${cgiPort};
${lines.join('\n')} } }`,
    port,
  )
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => ['access.log', 'error.log'].map(name => readFileSync(join(folder, name), 'utf8')).join(''),
    close: async () => {
      await stop()
      await end(bridge)
    },
  }
}

export interface SshServer extends GitServer {
  /** The SSH command of the account: with the known key of the server, and no other configuration. */
  command: string
  /** The socket of an agent that holds the user's key. */
  agent: string
  knownHosts: string
}

/** OpenSSH on this machine, for the account that runs the tests, with new keys. */
export async function serveGitOverSsh(folder: string, repositories: string): Promise<SshServer> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const at = (name: string) => join(folder, name)
  for (const name of ['host', 'user']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)])
  const [port, knownHosts, agent] = [await freePort(), at('known_hosts'), at('agent')]
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${readFileSync(at('host.pub'), 'utf8')}`)
  writeFileSync(at('authorized_keys'), readFileSync(at('user.pub')))
  writeFileSync(
    at('sshd_config'),
    `ListenAddress 127.0.0.1:${port}
HostKey ${at('host')}
AuthorizedKeysFile ${at('authorized_keys')}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
LogLevel VERBOSE
`,
  )
  // As root, sshd requires this folder, which a system service would have created.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const server = spawn(sshd!, ['-D', '-E', at('log'), '-f', at('sshd_config')], { stdio: 'ignore' })
  const holder = spawn('ssh-agent', ['-D', '-a', agent], { stdio: 'ignore' })
  await eventually('sshd', () => answers(port))
  await eventually('ssh-agent', () => existsSync(agent))
  execFileSync('ssh-add', ['-q', at('user')], { env: { ...process.env, SSH_AUTH_SOCK: agent } })
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}${repositories}`,
    command: `ssh -F none -o BatchMode=yes -o UserKnownHostsFile=${knownHosts} -o IdentityFile=none`,
    agent,
    knownHosts,
    log: () => readFileSync(at('log'), 'utf8'),
    close: async () => {
      await end(holder)
      await end(server)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  if (child.exitCode === null && child.signalCode === null && child.kill()) await gone
}
