import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AgentFailure } from '../agents/link/agentLink.ts'
import { describeExit } from '../agents/link/exitFailures.ts'
import { createRedactor } from '../agents/link/redactSecrets.ts'
import { watchLimits, type LimitWatch } from '../agents/sessions/watch/limitWatch.ts'
import { prepareCommand } from '../agents/sessions/commands/prepareCommand.ts'
import type { SandboxDependencies } from '../agents/sessions/sandbox/projectSandbox.ts'
import { noSandbox } from '../agents/sessions/sandbox/runSandbox.ts'
import { logFailure, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import type { PreviewStatus } from '../contract/automation/previews.ts'
import { findFreePort, portVariables } from '../cardWork/cardPorts.ts'
import { Problem } from '../contract/errors.ts'
import type { PreviewPlan } from './planPreview.ts'
import { redact } from '../logs/redact.ts'
import { readPaced } from '../process/pacedReading.ts'
import { withoutStyles } from '../process/plainOutput.ts'
import { shellCommand } from '../process/shellCommand.ts'
import { exitCodeOf, LaunchFailed, type Child, type ProcessTrees } from '../process/spawn.ts'
import { createTextTail } from '../process/textTail.ts'
import { sandboxOf } from '../store/projects/projects.ts'
import type { CanOpen } from './previewGate.ts'
import { connectToLoopback, openPreviewProxy, type ConnectToProgram, type PreviewProxy } from './previewProxy.ts'

const maxOutputBytes = 8192
/** More output is kept than shown. If the beginning of a secret was cut off, the rest is not recognized, and must not be shown. */
const keptBytes = 2 * maxOutputBytes
const probeMs = { first: 100, last: 2000, for: 120_000 }
const termMs = 3000
/** The time to read the last output of an ended process. */
const drainMs = 500

export interface RunDependencies extends SandboxDependencies {
  processTrees: ProcessTrees
  log: Log
  config: SandboxDependencies['config'] & Pick<ServerConfig, 'clock' | 'previewLeaseMs'>
  /** The account on this machine at the other end of a connection. Undefined if unknown. */
  uidOf(socket: Socket): Promise<number | undefined>
  /** Called after each change of the status. */
  onStatus(): void
}

/** A running or failed preview. */
export class PreviewRun {
  readonly plan: PreviewPlan
  readonly startedAt: string
  status: Exclude<PreviewStatus, 'off'> = 'starting'
  endsAt: string
  exitCode: number | null = null
  reason: string | null = null
  /** Resolves when all its processes have exited. Never rejects. */
  readonly over: Promise<void>
  isOver = false

  readonly #dependencies: RunDependencies
  readonly #tail = createTextTail(keptBytes)
  readonly #stopped = new AbortController()
  #redact = (text: string): string => text
  #lease: NodeJS.Timeout | undefined
  #isProbing = false
  #child: Child | undefined
  #proxy: PreviewProxy | undefined
  #limits: LimitWatch | undefined
  #sandbox = noSandbox

  constructor(dependencies: RunDependencies, plan: PreviewPlan) {
    this.plan = plan
    this.#dependencies = dependencies
    this.startedAt = dependencies.config.clock().toISOString()
    this.endsAt = this.#extend()
    this.over = this.#run().finally(() => (this.isOver = true))
  }

  get isStopping(): boolean {
    return this.#stopped.signal.aborted
  }

  /** Postpones the end of the preview. */
  renew(): void {
    this.endsAt = this.#extend()
    this.#probe(0)
  }

  /**
   * The address that opens the preview once, as long as `canOpen` allows.
   * @throws Problem CONFLICT if it is not running
   */
  issueTicket(canOpen: CanOpen): { url: string; expiresAt: string } {
    if (this.status !== 'running' || this.isStopping || !this.#proxy) throw notRunning()
    return this.#proxy.issueTicket(canOpen)
  }

  /** Ends the preview and all its processes, without marking a failure. Takes at most 6 s. */
  stop(): Promise<void> {
    this.#stopped.abort()
    clearTimeout(this.#lease)
    void this.#child?.stop({ graceMs: 0, termMs })
    return this.over
  }

  /** The end of the preview's output, without secrets and terminal control sequences. */
  output(): string {
    const plain = this.#redact(this.#tail.read().output)
    const bytes = Buffer.from(plain)
    return bytes.length <= maxOutputBytes ? plain : utf8Tail(bytes)
  }

  #extend(): string {
    clearTimeout(this.#lease)
    const { clock, previewLeaseMs } = this.#dependencies.config
    this.#lease = setTimeout(() => void this.stop(), previewLeaseMs).unref()
    return new Date(clock().getTime() + previewLeaseMs).toISOString()
  }

  async #run(): Promise<void> {
    try {
      await this.#serve()
    } catch (error) {
      this.#fail(reasonOf(error) ?? "The server could not run the command. The server's log has the details.")
      if (reasonOf(error) === undefined) this.#logFailure(error)
    } finally {
      clearTimeout(this.#lease)
      this.#limits?.stop()
      this.#proxy?.close()
      await this.#end()
    }
  }

  async #serve(): Promise<void> {
    const {
      plan,
      plan: { project, card, place, ports, command },
    } = this
    const { launch, sandbox } = await prepareCommand(this.#dependencies, {
      project,
      cardId: card.id,
      place,
      ports,
      isServed: true,
    })
    this.#sandbox = sandbox
    const { text } = createRedactor(launch.secrets)
    this.#redact = given => redact.text(text(withoutStyles(given)), Infinity)
    if (this.isStopping) return
    const program = sandbox.connectInside
      ? { ports, connect: sandbox.connectInside, variables: {} }
      : await ownNetwork(ports)
    this.#proxy = await this.#openProxy(program)
    const env = { ...launch.env, ...program.variables }
    const wrapped = await sandbox.wrap({ argv: shellCommand(command), cwd: launch.cwd, env })
    const child = await this.#dependencies.processTrees.spawn({ ...wrapped, stdin: 'ignore', kind: 'preview' })
    this.#child = child
    const outputEnd = Promise.all([child.stdout, child.stderr].map(stream => readPaced(stream, this.#tail.add)))
    this.#limits = watchLimits(
      sandboxOf(plan.project),
      { usage: child.usage, terminate: graceMs => child.stop({ graceMs, termMs: graceMs }) },
      { what: 'The preview', cgroup: sandbox.cgroup },
    )
    if (this.isStopping) void child.stop({ graceMs: 0, termMs })
    this.#probe(probeMs.for)
    const exit = await child.exited
    await Promise.race([outputEnd, delay(drainMs, undefined, { ref: false })])
    if (this.isStopping) return
    this.exitCode = exitCodeOf(exit)
    throw this.#limits.explain(new AgentFailure('crashed', `The preview command ${describeExit(exit)}.`), this.output())
  }

  #openProxy({ ports, connect }: ProgramPorts): Promise<PreviewProxy> {
    const { uidOf, config } = this.#dependencies
    return openPreviewProxy({
      cardId: this.plan.card.id,
      ports,
      connect,
      uidOf,
      clock: config.clock,
      onError: error => this.#logFailure(error),
    })
  }

  /** Checks repeatedly, for `forMs` and at least once, whether the program accepts connections. */
  #probe(forMs: number): void {
    if (this.#isProbing) return
    this.#isProbing = true
    void this.#untilRunning(forMs).finally(() => (this.#isProbing = false))
  }

  async #untilRunning(forMs: number): Promise<void> {
    const until = performance.now() + forMs
    for (let pauseMs = probeMs.first; this.status === 'starting' && this.#child && !this.isStopping; pauseMs *= 1.5) {
      if ((await this.#proxy?.isReached()) && this.status === 'starting' && !this.isStopping) {
        this.status = 'running'
        return this.#dependencies.onStatus()
      }
      if (performance.now() > until) return
      await delay(Math.min(pauseMs, probeMs.last), undefined, { ref: false })
    }
  }

  #fail(reason: string): void {
    if (this.isStopping) return
    this.status = 'failed'
    this.reason = reason
    this.#dependencies.onStatus()
  }

  /** Ends all processes, including those that the command left running. */
  async #end(): Promise<void> {
    const isGone = await this.#child?.stop({ graceMs: 0, termMs }).catch((error: unknown) => this.#logFailure(error))
    await this.#sandbox.close()
    for (const stream of [this.#child?.stdout, this.#child?.stderr]) stream?.destroy()
    if (isGone === false)
      this.#dependencies.log('error', 'A process of a preview could not be stopped.', { cardId: this.plan.card.id })
  }

  #logFailure(error: unknown): void {
    logFailure(this.#dependencies.log, 'A preview could not be run.', error, { cardId: this.plan.card.id })
  }
}

/** The public ports, and the connection to the program behind each. */
interface ProgramPorts {
  ports: readonly number[]
  connect: ConnectToProgram
  variables: Record<string, string>
}

/**
 * The connection to a program on the machine's own network, where the proxy uses the card's port and the program gets another
 * one. The other ports belong to the program.
 */
async function ownNetwork([port]: PreviewPlan['ports']): Promise<ProgramPorts> {
  const free = await findFreePort()
  return { ports: [port], connect: connectToLoopback(free), variables: portVariables([free]) }
}

export const notRunning = (): Problem => new Problem('CONFLICT', 'The preview is not running. Start it first.')

const portTaken = (port: number): AgentFailure =>
  new AgentFailure(
    'launch_failed',
    `Port ${port} is in use by another program, which the card's agent might have started. End that program, then start the preview again.`,
  )

/** Why a preview failed, as text for users. Undefined for an error of the server. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof AgentFailure || error instanceof LaunchFailed) return error.message
  const { code, port } = error as NodeJS.ErrnoException & { port?: number }
  return code === 'EADDRINUSE' && port !== undefined ? portTaken(port).message : undefined
}

function utf8Tail(bytes: Buffer): string {
  let from = bytes.length - maxOutputBytes
  while ((bytes[from]! & 0xc0) === 0x80) from++
  return bytes.toString('utf8', from)
}
