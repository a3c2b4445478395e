import type { Writable } from 'node:stream'
import type { EffectiveWorktree } from '../../../contract/projects/worktree.ts'
import type { Child } from '../../../process/spawn.ts'
import { AgentFailure, type AgentCommand, type AgentLaunch, type RawUpdate } from '../../link/agentLink.ts'
import { openAgent } from '../open/openAgent.ts'

/** The commands of a project around the sessions of its agents. */
export type WorktreeCommand = 'setup' | 'beforeRun' | 'afterRun' | 'cleanup'

const titles: Record<WorktreeCommand, string> = {
  setup: 'Setup',
  beforeRun: 'Before the run',
  afterRun: 'After the run',
  cleanup: 'Cleanup',
}

/** The folder, environment and settings of a project's commands. */
export interface CommandPlace {
  /** The folder and the environment, which contains neither the agent's credential nor its token. */
  launch: AgentLaunch
  settings: EffectiveWorktree
}
export interface CommandRun extends CommandPlace {
  spawn(command: AgentCommand): Promise<Child<Writable>>
  /** Receives the activity and output of the command, as a tool call of an agent. */
  update(update: RawUpdate): void | Promise<void>
}

/**
 * Runs a project's command with `sh -c`, in the session's sandbox if there is one. Does nothing without a command. Its output
 * goes to the transcript as it arrives. Processes that the command leaves running are ended.
 * @throws AgentFailure setup_failed if the command fails or takes longer than `settings.minutes`; errors of `spawn`
 */
export async function runWorktreeCommand(which: WorktreeCommand, run: CommandRun): Promise<void> {
  const command = run.settings[which]
  if (command === '') return
  const toolCallId = `board-${which}-${Date.now()}`
  const toUpdate = (fields: object): RawUpdate => ({ sessionUpdate: 'tool_call_update', toolCallId, ...fields })
  const started: Child<Writable>[] = []
  const spawn = async (given: AgentCommand) => {
    const child = await run.spawn(given)
    started.push(child)
    return child
  }
  const listener = {
    update: ({ content }: RawUpdate) => run.update(toUpdate(outputOf(content))),
    permission: () => {},
    permissionWithdrawn: () => {},
  }
  await run.update({
    sessionUpdate: 'tool_call',
    toolCallId,
    title: `${titles[which]}: ${command}`,
    kind: 'execute',
    status: 'in_progress',
    rawInput: { command },
  })
  try {
    const link = await openAgent({ ...run.launch, protocol: 'terminal' }, listener, spawn)
    await withinMinutes(run.settings.minutes, link.prompt(command))
    await run.update(toUpdate({ status: 'completed' }))
  } catch (error) {
    const isNotStarted = error instanceof AgentFailure && error.reason === 'launch_failed'
    await run.update(toUpdate({ ...(isNotStarted && outputOf({ text: error.message })), status: 'failed' }))
    throw error instanceof AgentFailure ? failureOf(which, error) : error
  } finally {
    await Promise.all(started.map(child => child.stop({ graceMs: 0 })))
  }
}

const outputOf = (content: unknown): object => {
  const { text } = content as { text: string }
  return { _meta: { terminal_output_delta: { data: text } } }
}

async function withinMinutes(minutes: number, ended: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new AgentFailure('setup_failed', `It took longer than ${minutes} minutes.`))
    timer = setTimeout(fail, minutes * 60_000)
  })
  try {
    await Promise.race([ended, late])
  } finally {
    clearTimeout(timer)
  }
}

const failureOf = (which: WorktreeCommand, { message, cause }: AgentFailure): AgentFailure =>
  new AgentFailure('setup_failed', `The project's ${which} command failed. ${message}`, cause)
