import { setTimeout as delay } from 'node:timers/promises'
import * as v from 'valibot'
import { commandEnvironment } from '../process/environment.ts'
import { createTail, tailOf } from '../process/output.ts'
import { exitCodeOf, LaunchFailed, type Child, type Exit, type ProcessTrees } from '../process/spawn.ts'
import { answers, Failed, Unsupported } from './commandAnswers.ts'
import { errorLines } from './errorLines.ts'
import { ForgeFailed, type Forge } from './forge.ts'
import { cleanLine } from './forgeFields.ts'
import type { Schema } from './forgeHttp.ts'

const timeLimitMs = 60_000
const termMs = 2000
const lastWordsMs = 1000
const maxAnswerBytes = 4 * 1024 * 1024
const maxWordsBytes = 4096
const maxSaidLength = 300

/** The options of a forge's command. */
export interface CommandForgeOptions {
  command: string
  projectId: number
  /** The project's folder. */
  path: string
  processTrees: ProcessTrees
  timeLimitMs?: number
}

/**
 * Another forge, through a program of the project: the program reads one request and prints one response, both JSON
 * (docs/forges.md). It does not get secrets of the server. An unsupported read is empty, and an unsupported change fails with
 * 'invalid'.
 */
export function createCommandForge(options: CommandForgeOptions): Forge {
  const ask = <T>(action: string, schema: Schema<T>, request: object = {}) =>
    askCommand(options, { action, ...request }, schema)
  const requireAnswer = async <T>(action: string, schema: Schema<T>, request: object = {}): Promise<T> => {
    const answer = await ask(action, schema, request)
    if (answer === unsupported) throw new ForgeFailed('invalid', `The forge's command does not support "${action}".`)
    return answer
  }
  const read = async <T, Empty>(
    action: string,
    schema: Schema<T>,
    empty: Empty,
    request: object = {},
  ): Promise<T | Empty> => {
    const answer = await ask(action, schema, request)
    return answer === unsupported ? empty : answer
  }
  const { Pull, TakenPull, Nothing, Comment, Issue } = answers
  const pullAnswer = async (action: string, request: object) => {
    const { notTaken, ...pull } = await requireAnswer(action, TakenPull, request)
    return { pull, notTaken }
  }
  return {
    account: () => read('account', answers.Account, ''),
    repository: () => requireAnswer('repository', answers.Repository),
    findPull: async branch => (await requireAnswer('find', v.nullable(Pull), { branch })) ?? undefined,
    createPull: request => pullAnswer('create', request),
    readPull: number => requireAnswer('read', Pull, { number }),
    updatePull: (number, change) => pullAnswer('update', { number, ...change }),
    closePull: number => requireAnswer('close', Nothing, { number }),
    mergePull: async (number, merge) => (await requireAnswer('merge', answers.Merged, { number, ...merge })).commit,
    listChecks: ({ number, headCommit }) => read('checks', answers.Checks, [], { number, headCommit }),
    readCheckLog: async (check, maxBytes) => {
      const log = await read('log', answers.Log, undefined, { check })
      return log === undefined ? undefined : errorLines(log, maxBytes)
    },
    listReviews: number => read('reviews', answers.Reviews, [], { number }),
    listPullComments: number => read('comments', answers.Comments, [], { number }),
    commentOnPull: (number, body, to) => requireAnswer('comment', Comment, { number, body, to }),
    listIssues: query => read('issues', answers.Issues, [], query),
    readIssue: number => requireAnswer('issue', Issue, { number }),
    closeIssue: number => requireAnswer('closeIssue', Nothing, { number }),
    reopenIssue: number => requireAnswer('reopenIssue', Nothing, { number }),
    listIssueComments: (number, since) => read('issueComments', answers.Comments, [], { number, since }),
    commentOnIssue: (number, body) => requireAnswer('commentIssue', Comment, { number, body }),
    editIssueComment: (number, id, body) => requireAnswer('editIssueComment', Nothing, { number, id, body }),
    deleteIssueComment: (number, id) => requireAnswer('deleteIssueComment', Nothing, { number, id }),
  }
}

const unsupported = Symbol('unsupported')

async function askCommand<T>(
  options: CommandForgeOptions,
  request: { action: string },
  schema: Schema<T>,
): Promise<T | typeof unsupported> {
  const response = await run(options, JSON.stringify(request))
  if (v.is(Unsupported, response)) return unsupported
  const failed = v.safeParse(Failed, response)
  if (failed.success) {
    const { reason, message, retryAt } = failed.output.error
    throw new ForgeFailed(reason, `The forge's command reported: ${message}`, {
      retryAt: reason === 'limited' ? (retryAt ?? Date.now() + 60_000) : undefined,
    })
  }
  const { success, output, issues } = v.safeParse(schema, response)
  if (success) return output
  const at = v.getDotPath(issues[0]) ?? 'the answer'
  throw unexpectedAnswer(request.action, `${at.slice(0, 100)}: ${cleanLine(issues[0].message, 200)}`)
}

const unexpectedAnswer = (action: string, why: string) =>
  new ForgeFailed('odd', `The answer of the forge's command to "${action}" does not have the documented form: ${why}.`)

/** Runs the command once. @returns its parsed response */
async function run(options: CommandForgeOptions, request: string): Promise<unknown> {
  const { command, path, projectId, processTrees } = options
  // The program has no access to the board, so it does not receive the board's address.
  const { BOARD_URL: _, ...env } = commandEnvironment({ url: '', projectId })
  const child = await processTrees
    .spawn({
      command: ['sh', '-c', '--', command],
      cwd: path,
      env,
      stdin: 'pipe',
      kind: 'forge',
    })
    .catch((error: unknown) => {
      if (error instanceof LaunchFailed)
        throw new ForgeFailed('unreachable', `The forge's command could not be started: ${error.message}`)
      throw error
    })
  const words = tailOf(child.stderr, maxWordsBytes)
  const output = readAnswer(child)
  child.stdin.end(`${request}\n`)
  const exit = await exitOf(child, options.timeLimitMs ?? timeLimitMs)
  await child.stop({ graceMs: 0, termMs })
  const answer = await output()
  const { action } = JSON.parse(request) as { action: string }
  if (exit === 'late') throw new ForgeFailed('unreachable', `The forge's command did not answer "${action}" in time.`)
  if (answer === undefined) throw unexpectedAnswer(action, 'it is too long')
  try {
    return JSON.parse(answer) as unknown
  } catch {
    const code = exitCodeOf(exit)
    if (code === 0) throw unexpectedAnswer(action, 'it is not JSON')
    const last = cleanLine(words.text().trimEnd().split('\n').at(-1) ?? '', maxSaidLength)
    throw new ForgeFailed('unreachable', `The forge's command ended with code ${code}${last && `: ${last}`}`)
  }
}

/** Reads the output. Returns undefined if there is too much. */
function readAnswer({ stdout }: Child): () => Promise<string | undefined> {
  const tail = createTail(maxAnswerBytes)
  let size = 0
  stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    tail.add(chunk)
  })
  const ended = new Promise<void>(resolve => stdout.once('close', resolve))
  return async () => {
    // A process that could not be ended might keep the stream open.
    await Promise.race([ended, delay(lastWordsMs, undefined, { ref: false })])
    stdout.destroy()
    return size > maxAnswerBytes ? undefined : tail.text()
  }
}

async function exitOf({ exited }: Child, limitMs: number): Promise<Exit | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(resolve, limitMs, 'late')
  })
  return Promise.race([exited, late]).finally(() => clearTimeout(timer))
}
