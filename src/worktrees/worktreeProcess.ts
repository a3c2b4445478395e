import { spawn, type ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { AccountSettings } from '../git/accountSettings.ts'
import { GitFailed } from '../git/git.ts'
import { passDescriptors, type Covered } from '../process/inheritedDescriptors.ts'
import { decodeFailure, type Failure } from './failures.ts'
import { encodeMessage, readMessages } from './messages.ts'
import type { OperationInput, OperationName } from './operations.ts'
import type { ResultPart, Send } from './send.ts'

/** A process that works on the files of one worktree and sees nothing else of the host. */
export interface WorktreeProcess {
  /**
   * Runs an operation.
   * @param send receives the bytes that the operation sends
   * @throws what the operation throws; GitFailed if the process ends, or takes longer than 10 minutes and is killed
   */
  call(
    name: OperationName,
    input: OperationInput<OperationName>,
    account: AccountSettings,
    send: Send,
  ): Promise<unknown>
  /** The number of operations that run. */
  readonly running: number
  /** Whether the process accepts no more operations, because it has ended or is being killed. */
  readonly isOver: boolean
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>
  kill(): void
}

/** A message to the process: one operation to run. */
export interface OperationRequest {
  id: number
  name: OperationName
  input: OperationInput<OperationName>
  account: AccountSettings
}
/** A message from the process: bytes of a result, or how the operation ended. */
export type OperationResponse = { id: number } & (
  | { part: ResultPart | '' }
  | { result: unknown }
  | { failure: Failure }
)

/** The descriptor from which bubblewrap reads the program, and the path of the program inside. */
export const programFd = 3
export const programPath = '/run/board/worktree.cjs'

const maxOperationMs = 10 * 60_000
const maxStderrLength = 2000
const builtProgram = import.meta.url.endsWith('.ts') ? '../../dist/worktree.cjs' : 'worktree.cjs'

/** Reads the program of the process. A server reads it at startup, because an update of the board can replace the file later. */
export const loadWorktreeProgram = (): Promise<Buffer> =>
  readFile(fileURLToPath(new URL(builtProgram, import.meta.url)))

interface PendingCall {
  send: Send
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Starts the process by a command that reads its program from `programFd`. The process inherits the descriptors. */
export function startWorktreeProcess(
  command: readonly string[],
  program: Buffer,
  {
    env,
    covered,
    descriptors,
  }: { env: Readonly<Record<string, string>>; covered: Covered; descriptors: readonly number[] },
): WorktreeProcess {
  const [file, ...args] = command
  const child = spawn(file!, args, {
    cwd: '/',
    env,
    // The process leads a process group, which `killGroup` kills.
    detached: true,
    stdio: passDescriptors(['pipe', 'pipe', 'pipe', 'pipe', ...covered.slice(1)], descriptors),
  })
  const [stdin, stdout, stderr, programPipe] = child.stdio as unknown as [Writable, Readable, Readable, Writable]
  const pending = new Map<number, PendingCall>()
  let lastId = 0
  let output = ''
  let isOver = false
  const fail = (cause?: unknown) => {
    if (!isOver) killGroup(child)
    isOver = true
    const error = new GitFailed('failed', `The process of the worktree ended. ${output}`.trim(), cause)
    for (const call of pending.values()) call.reject(error)
    pending.clear()
  }
  const ended = endOf(child).then(() => fail())
  for (const stream of [stdin, programPipe]) stream.on('error', fail)
  stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-maxStderrLength)))
  programPipe.end(program)
  void answer(stdout, pending).catch(fail)
  return {
    get running() {
      return pending.size
    },
    get isOver() {
      return isOver
    },
    ended,
    kill: () => fail(),
    call: async (name, input, account, send) => {
      const id = ++lastId
      const request: OperationRequest = { id, name, input, account }
      const late = setTimeout(() => fail(new Error(`${name} took longer than ${maxOperationMs} ms.`)), maxOperationMs)
      try {
        return await new Promise((resolve, reject) => {
          pending.set(id, { send, resolve, reject })
          if (isOver) return fail()
          for (const chunk of encodeMessage(request)) stdin.write(chunk)
        })
      } finally {
        clearTimeout(late)
        pending.delete(id)
      }
    },
  }
}

/** Kills the whole process group. If only the parent is killed, bubblewrap's first child waits for it forever. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    /* The process has ended. */
  }
}

const endOf = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    for (const event of ['exit', 'error']) child.once(event, () => resolve())
  })

/** Returns the responses of the process. The process reads and writes hostile files, so an unknown response ends it. */
async function answer(stdout: Readable, pending: Map<number, PendingCall>): Promise<void> {
  for await (const { head, bytes } of readMessages(stdout)) {
    const response = head as OperationResponse
    const call = pending.get(response.id)
    if (!call) throw new Error('The process sent an unexpected response.')
    if ('part' in response)
      await call.send(bytes, response.part || undefined).catch((error: unknown) => {
        // The caller receives the cause, for example a full disk, before the process ends.
        call.reject(error)
        throw error
      })
    else if ('failure' in response) call.reject(decodeFailure(response.failure))
    else call.resolve(response.result)
  }
}
