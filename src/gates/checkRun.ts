import { setTimeout as delay } from 'node:timers/promises'
import { AgentFailure } from '../agents/link/agentLink.ts'
import { createRedactor } from '../agents/link/redactSecrets.ts'
import { prepareCommand } from '../agents/sessions/commands/prepareCommand.ts'
import type { SandboxDependencies } from '../agents/sessions/sandbox/projectSandbox.ts'
import { watchLimits } from '../agents/sessions/watch/limitWatch.ts'
import type { Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { redact } from '../logs/redact.ts'
import { readPaced } from '../process/pacedReading.ts'
import { withoutStyles } from '../process/plainOutput.ts'
import { shellCommand } from '../process/shellCommand.ts'
import { exitCodeOf, LaunchFailed, type Child, type ProcessTrees } from '../process/spawn.ts'
import { createTextTail } from '../process/textTail.ts'
import { sandboxOf } from '../store/projects/projects.ts'
import type { CheckPlan, CheckResult } from './planCheck.ts'

const maxOutputBytes = 1024 * 1024
const maxSummaryLength = 300
const termMs = 3000
/** The time to read the last output of an ended process. */
const drainMs = 500

export interface CheckDependencies extends SandboxDependencies {
  processTrees: ProcessTrees
  log: Log
}
/** A gate's command while it runs in a card's worktree, in the sandbox of the project's agents. */
export class CheckRun {
  readonly #dependencies: CheckDependencies
  readonly #plan: CheckPlan
  readonly #tail = createTextTail(maxOutputBytes)
  readonly #stopped = new AbortController()
  #redact = (text: string): string => text
  #child: Child | undefined

  constructor(dependencies: CheckDependencies, plan: CheckPlan) {
    this.#dependencies = dependencies
    this.#plan = plan
  }

  /** The end of the output, without secrets and styles of a terminal. */
  output(): { output: string; outputStart: number } {
    const { output, outputStart } = this.#tail.read()
    return { output: this.#redact(output), outputStart }
  }

  /** Stops the command and all its processes. The first reason becomes the summary. */
  stop(reason: string): void {
    this.#stopped.abort(reason)
    void this.#child?.stop({ graceMs: 0, termMs })
  }

  /** Runs the command to its end. Never rejects. */
  async run(): Promise<CheckResult> {
    try {
      return await this.#runCommand()
    } catch (error) {
      if (!(error instanceof AgentFailure || error instanceof LaunchFailed || error instanceof Problem))
        this.#dependencies.log('error', 'A gate could not be run.', {
          cause: String(error),
          cardId: this.#plan.card.id,
        })
      const isKnown = error instanceof Error && !(error instanceof TypeError)
      return failed(
        'error',
        isKnown ? error.message : "The server could not run the command. The server's log has the details.",
      )
    }
  }

  async #runCommand(): Promise<CheckResult> {
    const { project, card, place, ports, gate } = this.#plan
    const site = { project, cardId: card.id, place, ports, isServed: false }
    const { launch, sandbox } = await prepareCommand(this.#dependencies, site)
    const { text } = createRedactor(launch.secrets)
    this.#redact = given => redact.text(text(withoutStyles(given)), Infinity)
    try {
      if (this.#stopped.signal.aborted) return this.#stoppedResult()
      const command = { argv: shellCommand(gate.command ?? ''), cwd: launch.cwd, env: launch.env }
      const wrapped = await sandbox.wrap(command)
      const child = await this.#dependencies.processTrees.spawn({ ...wrapped, stdin: 'ignore', kind: 'gate' })
      this.#child = child
      const limits = watchLimits(
        { ...sandboxOf(project), minutes: gate.minutes },
        { usage: child.usage, terminate: graceMs => child.stop({ graceMs, termMs: graceMs }) },
        { what: 'The command', cgroup: sandbox.cgroup },
      )
      try {
        return await this.#readToEnd(child, error => limits.explain(error, this.output().output))
      } finally {
        limits.stop()
      }
    } finally {
      await this.#child?.stop({ graceMs: 0, termMs }).catch(() => false)
      await sandbox.close()
    }
  }

  async #readToEnd(child: Child, explain: (error: unknown) => unknown): Promise<CheckResult> {
    const outputEnd = Promise.all([child.stdout, child.stderr].map(stream => readPaced(stream, this.#tail.add)))
    if (this.#stopped.signal.aborted) void child.stop({ graceMs: 0, termMs })
    const exit = await child.exited
    // Background processes of the command must not change files after the comparison.
    await child.stop({ graceMs: 0, termMs })
    await Promise.race([outputEnd, delay(drainMs, undefined, { ref: false })])
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    if (this.#stopped.signal.aborted) return this.#stoppedResult()
    const exitCode = exitCodeOf(exit)
    if (exitCode === 0) return { status: 'passed', exitCode, summary: this.#lastLine() }
    const reached = explain(undefined)
    if (reached instanceof AgentFailure) return failed('failed', reached.message)
    return { status: 'failed', exitCode, summary: this.#lastLine() || `Exit code ${exitCode}.` }
  }

  #stoppedResult(): CheckResult {
    return failed('error', String(this.#stopped.signal.reason))
  }

  #lastLine(): string {
    const lines = this.output().output.trimEnd().split('\n')
    return (lines.at(-1) ?? '').trim().slice(0, maxSummaryLength)
  }
}

const failed = (status: 'failed' | 'error', summary: string): CheckResult => ({ status, exitCode: null, summary })
