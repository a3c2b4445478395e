import { StringDecoder } from 'node:string_decoder'
import type { Readable } from 'node:stream'
import { describeExit, notStarted, said } from './exitFailures.ts'
import { reasonIn } from './failureReasons.ts'
import { allRead, handle, newReading } from './drainOutput.ts'
import { createSafeTail, type SafeTail } from './stderrTail.ts'
import {
  AgentFailure,
  type AgentCommand,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type AgentProcess,
  type SpawnAgent,
  type TurnEnd,
} from './agentLink.ts'

const placeholder = '{prompt}'

/** A prompt as a command, and what of it goes to the command's stdin. */
export interface Turned {
  command: AgentCommand
  stdin: string | null
  /** Whether what it writes to stderr is part of its answer. */ tellStderr: boolean
}

interface RunningTurn {
  cancelled: boolean
  child?: AgentProcess
}

/**
 * An agent that is a plain command: each prompt is a process of its own, what it writes to stdout is what the agent says, and its
 * exit code tells whether it did its work. The prompt stands for `{prompt}` in its arguments, or else comes by stdin.
 */
export const openCommand = (launch: AgentLaunch, listener: AgentListener, spawn: SpawnAgent): AgentLink =>
  openProcesses(launch, listener, spawn, prompt => {
    const { argv, cwd, env } = launch
    const takesArgument = argv.some((argument, index) => index > 0 && argument.includes(placeholder))
    return {
      command: {
        argv: argv.map((argument, index) => (index > 0 ? argument.replaceAll(placeholder, () => prompt) : argument)),
        cwd,
        env,
      },
      stdin: takesArgument ? null : prompt,
      tellStderr: false,
    }
  })

/** An agent that has no conversation but a process a turn. */
export function openProcesses(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  turned: (prompt: string) => Turned,
): AgentLink {
  let tail = createSafeTail(launch.secrets)
  let turn: RunningTurn | null = null
  return {
    info: { name: null, version: null },
    capabilities: { resume: false, tools: false, followUps: true },
    start: async () => ({ sessionId: null, resumed: false, model: null, mode: null, modes: [], models: [] }),
    async prompt(text): Promise<TurnEnd> {
      if (turn) throw new Error('The agent is in the middle of a turn.')
      const mine: RunningTurn = { cancelled: false }
      turn = mine
      tail = createSafeTail(launch.secrets)
      try {
        const { command, stdin, tellStderr } = turned(text.replaceAll('\0', ''))
        const child = (mine.child = await spawn(command).catch(error => {
          throw notStarted(error)
        }))
        child.stdin.end(stdin ?? '')
        await told(child, listener, tail, tellStderr)
        if (mine.cancelled) return { stopReason: 'cancelled', usage: null }
        const exit = await child.exited
        if (exit.code !== 0)
          throw new AgentFailure(
            (exit.signal ? undefined : reasonIn(tail.text())) ?? 'crashed',
            `The command ${describeExit(exit)}.${said(tail)}`,
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
    stderrTail: () => tail.text(),
    close: () => {
      turn?.child?.stdin.end()
    },
    exited: null,
  }
}

/** Tells the listener all that a process writes, to the end of it. */
async function told(child: AgentProcess, listener: AgentListener, tail: SafeTail, tellStderr: boolean): Promise<void> {
  const tell = (text: string) =>
    listener.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  if (!tellStderr) child.stderr.on('data', tail.add)
  await Promise.all(
    [child.stdout, ...(tellStderr ? [child.stderr] : [])].map(stream => readText(stream, child, tail, tell)),
  )
}

/** Reads as long as the process lives and something is left of it in the pipe; what its children write later is let go. */
async function readText(
  stream: Readable,
  { exited }: AgentProcess,
  tail: SafeTail,
  tell: (text: string) => void | Promise<void>,
): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const reading = newReading()
  let isOver = false
  const all = (async () => {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const text = decoder.write(chunk)
      if (isOver) continue
      tail.add(chunk)
      if (text) await handle(reading, tell(text))
    }
  })().finally(() => {
    reading.ended = true
  })
  await Promise.race([all, exited.then(() => allRead(reading))])
  isOver = true
}
