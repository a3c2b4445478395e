import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import {
  AgentFailure,
  type AgentCommand,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type AgentProcess,
  type PromptFile,
  type SpawnAgent,
  type StartedSession,
  type TurnEnd,
} from './agentLink.ts'
import { createOutputReader, drainOutput, handleChunk } from './drainOutput.ts'
import { describeExit, asLaunchFailure, describeTail } from './exitFailures.ts'
import { reasonIn } from './failureReasons.ts'
import { createStderrTail, type StderrTail } from './stderrTail.ts'

const placeholder = '{prompt}'

/** The process of one turn. */
export interface TurnCommand {
  command: AgentCommand
  stdin: string | null
  /** Whether stderr is part of the answer. */
  mergeStderr: boolean
}

interface RunningTurn {
  cancelled: boolean
  child?: AgentProcess
}

/**
 * An agent that is a plain command: each prompt is a process, its stdout is the answer, and its exit code reports success. The prompt
 * replaces `{prompt}` in the arguments, or else is written to stdin.
 */
export const openCommand = (launch: AgentLaunch, listener: AgentListener, spawn: SpawnAgent): AgentLink =>
  openProcessPerTurn(launch, listener, spawn, prompt => {
    const { argv, cwd, env } = launch
    const takesArgument = argv.some((argument, index) => index > 0 && argument.includes(placeholder))
    return {
      command: {
        argv: argv.map((argument, index) => (index > 0 ? argument.replaceAll(placeholder, () => prompt) : argument)),
        cwd,
        env,
      },
      stdin: takesArgument ? null : prompt,
      mergeStderr: false,
    }
  })

/** A plain command has no models, modes and efforts to choose from. @throws AgentFailure launch_failed when one was chosen */
function startedWithoutOptions({ choice }: AgentLaunch): StartedSession {
  for (const [what, id] of Object.entries(choice ?? {}))
    if (id !== null)
      throw new AgentFailure('launch_failed', `The agent is a plain command and does not support the ${what} ${id}.`)
  return {
    sessionId: null,
    resumed: false,
    model: null,
    mode: null,
    effort: null,
    modes: [],
    models: [],
    efforts: [],
  }
}

/** A prompt with the paths of its files. */
const withPaths = (text: string, files: readonly PromptFile[]): string =>
  files.length === 0 ? text : `${text}\n\nAttached files:\n${files.map(({ path }) => path).join('\n')}`

/** An agent without a conversation: each turn is a process. */
export function openProcessPerTurn(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  toCommand: (prompt: string) => TurnCommand,
): AgentLink {
  let tail = createStderrTail(launch.secrets)
  let turn: RunningTurn | null = null
  return {
    info: { name: null, version: null },
    capabilities: { resume: false, tools: false },
    start: async () => startedWithoutOptions(launch),
    async prompt(text, files = []): Promise<TurnEnd> {
      if (turn) throw new Error('The agent is in the middle of a turn.')
      const running: RunningTurn = { cancelled: false }
      turn = running
      tail = createStderrTail(launch.secrets)
      try {
        const { command, stdin, mergeStderr } = toCommand(withPaths(text, files).replaceAll('\0', ''))
        const child = (running.child = await spawn(command).catch(error => {
          throw asLaunchFailure(error)
        }))
        child.stdin.end(stdin ?? '')
        await readOutput(child, listener, tail, mergeStderr)
        if (running.cancelled) return { stopReason: 'cancelled', usage: null }
        const exit = await child.exited
        if (exit.code !== 0)
          throw new AgentFailure(
            (exit.signal ? undefined : reasonIn(tail.text())) ?? 'crashed',
            `The command ${describeExit(exit)}.${describeTail(tail)}`,
          )
        return { stopReason: 'end_turn', usage: null }
      } finally {
        turn = null
      }
    },
    async cancel() {
      if (turn) turn.cancelled = true
    },
    answerPermission: () => false,
    setMode: async () => {},
    stderrTail: from => tail.text(from),
    stderrWritten: () => tail.byteCount(),
    close: () => {
      turn?.child?.stdin.end()
    },
    receiveLate: async () => {},
    exited: null,
  }
}

/** Forwards the output of a process to the listener, to its end. */
async function readOutput(
  child: AgentProcess,
  listener: AgentListener,
  tail: StderrTail,
  mergeStderr: boolean,
): Promise<void> {
  const onText = (text: string) =>
    listener.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  if (!mergeStderr) child.stderr.on('data', tail.add)
  await Promise.all(
    [child.stdout, ...(mergeStderr ? [child.stderr] : [])].map(stream => readText(stream, child, tail, onText)),
  )
}

/** Reads until the process has exited and its pipe is drained. Later output of its children is dropped. */
async function readText(
  stream: Readable,
  { exited }: AgentProcess,
  tail: StderrTail,
  onText: (text: string) => void | Promise<void>,
): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const reader = createOutputReader()
  let isDrained = false
  const all = (async () => {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const text = decoder.write(chunk)
      if (isDrained) continue
      tail.add(chunk)
      if (text) await handleChunk(reader, onText(text))
    }
  })().finally(() => {
    reader.ended = true
  })
  await Promise.race([all, exited.then(() => drainOutput(reader))])
  isDrained = true
}
