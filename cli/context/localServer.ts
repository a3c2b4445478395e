import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendJson } from '../../src/client/http.ts'
import { processMark } from '../../src/system/kernel.ts'
import { dataFolder, serverOutputFile, runtimeFile, type Runtime } from '../../src/config/paths.ts'
import { readRuntime } from './selectServer.ts'
import { Failure } from '../failures/failure.ts'

/**
 * The server of a data folder on this machine. `stale`: its daemon.json exists, but the server does not run. A busy or suspended
 * server runs but does not answer.
 */
export interface LocalServer {
  dataDir: string
  state: 'running' | 'stale' | 'none'
  answers: boolean
  runtime: Runtime | undefined
  version: string | null
}

const betweenMs = 50
/** The server truncates a large output file. The append mode ensures that its next output starts at the new end. */
const appended = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND

/** Finds the server of this account's data folder, or of BOARD_DATA_DIR. */
export async function findLocalServer(): Promise<LocalServer> {
  const dataDir = dataFolder(process.env)
  const runtime = readRuntime()
  if (!runtime) return { dataDir, state: 'none', answers: false, runtime, version: null }
  const lives = runtime.mark !== undefined && processMark(runtime.pid) === runtime.mark
  const version = lives || isAlive(runtime.pid) ? await askVersion(runtime) : null
  return {
    dataDir,
    state: lives || version !== null ? 'running' : 'stale',
    answers: version !== null,
    runtime,
    version: version ?? (lives ? runtime.version : null),
  }
}

/**
 * Starts a server in the background, independent of this program and its terminal. Its output goes to
 * `logs/server.out` in the data folder, up to 4 MiB. Waits until the server answers.
 * @param program the path of `bin/board.js`
 * @param args the arguments of `board serve`; paths in them are relative to the working folder
 * @throws Failure with the last output lines if the server exits, (timedOut) if it does not answer in time
 */
export async function startLocalServer(program: string, args: readonly string[], waitSecs: number): Promise<Runtime> {
  const dataDir = dataFolder()
  const printed = serverOutputFile(dataDir)
  mkdirSync(dirname(printed), { recursive: true, mode: 0o700 })
  const out = openSync(printed, appended, 0o600)
  if (readRuntime()) forgetStale(dataDir)
  // The server outlives this program and writes to a file, so execa has no end or output to handle.
  const child = spawn(process.execPath, [program, 'serve', ...args], { detached: true, stdio: ['ignore', out, out] })
  closeSync(out)
  const ended = endOf(child)
  for (const giveUpAtMs = performance.now() + waitSecs * 1000; performance.now() < giveUpAtMs;) {
    if (ended.happened)
      throw new Failure('failure', `the server exited immediately: ${lastLines(printed)}`, { see: printed })
    const runtime = readRuntime()
    if (runtime && runtime.pid === child.pid && (await askVersion(runtime)) !== null) {
      child.unref()
      return runtime
    }
    await sleep(betweenMs)
  }
  child.unref()
  throw new Failure('timedOut', `the server does not respond after ${waitSecs} s; it might still start`, {
    see: printed,
  })
}

/**
 * Asks a server to stop and waits until its process has exited.
 * @throws Failure (timedOut)
 */
export async function stopLocalServer({ pid }: Runtime, timeoutSecs: number): Promise<void> {
  terminate(pid)
  for (const giveUpAtMs = performance.now() + timeoutSecs * 1000; performance.now() < giveUpAtMs;) {
    if (!isAlive(pid)) return
    await sleep(betweenMs)
  }
  throw new Failure(
    'timedOut',
    `the server (process ${pid}) has not stopped after ${timeoutSecs} s; it is still finishing its work`,
    { hint: 'wait longer with --timeout' },
  )
}

/** Removes the files that a killed server left behind. */
export const forgetStale = (dataDir: string): void => rmSync(runtimeFile(dataDir), { force: true })

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM')
      throw new Failure('denied', `process ${pid} belongs to another account`)
  }
}

async function askVersion({ url, token, certificate }: Runtime): Promise<string | null> {
  try {
    const health = await sendJson({ url, token, certificate, timeoutMs: 2000 }, 'GET', '/api/health')
    return (health as { version: string }).version
  } catch {
    return null
  }
}

function endOf(child: ChildProcess): { happened: boolean } {
  const end = { happened: false }
  child
    .once('exit', () => {
      end.happened = true
    })
    .once('error', () => {
      end.happened = true
    })
  return end
}

const lastLines = (path: string): string =>
  existsSync(path)
    ? readFileSync(path, 'utf8').trim().split('\n').slice(-3).join(' ').slice(0, 500) || 'no output'
    : 'no output'
