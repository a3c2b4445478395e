import { setTimeout as delay } from 'node:timers/promises'
import { foreignRoots } from '../worktrees/worktreePlaces.ts'
import type { AgentCheck } from '../contract/agents/agentCatalogue.ts'
import { invalid, Problem } from '../contract/errors.ts'
import { defaultSandbox } from '../contract/agents/sandbox.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find as findCredential } from '../domain/accounts/credentials.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import { requireMayCheckAgents } from '../domain/cards/startPermission.ts'
import { openProfile } from '../identity/agentProfiles.ts'
import type { Child } from '../process/spawn.ts'
import { writeOffers, type OffersRow } from '../store/agents/agentOffers.ts'
import { readProfileNamed, type ProfileRow } from '../store/agents/agentProfiles.ts'
import type { CredentialRow } from '../store/accounts/credentials.ts'
import { retryWhileBusy } from '../store/engine/retry.ts'
import type { AgentLink, AgentListener, StartedSession, TurnUsage } from './link/agentLink.ts'
import { toPlainLine } from './link/failureReasons.ts'
import { makeTrialFolder, openState, removeTrial } from './providers/agentHomes.ts'
import type { AgentProvider } from './providers/agentProvider.ts'
import { credentialProblem, type AgentCredential } from './providers/credentialEnvironment.ts'
import { prepareLaunch } from './providers/prepareLaunch.ts'
import { doesNotTake } from './providers/providerCatalogue.ts'
import { openAgent } from './sessions/open/openAgent.ts'
import { openCredential } from './sessions/prepare/takeCredential.ts'
import type { RunDependencies } from './sessions/runDependencies.ts'
import { endingOf } from './sessions/sessionEndings.ts'
import { noSandbox, openRunSandbox, type RunSandbox } from './sessions/sandbox/runSandbox.ts'
import type { Supervisor } from './sessions/agentSupervisor.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { beginCheckUsage, type CheckUsage } from './checkUsage.ts'

const maxChecks = 4
const greetTimeoutMs = 120_000
const stopGraceMs = 500
const maxDetail = 500
const greeting = 'This is a connection check. Answer with one short sentence, and use no tools.'
const notSignedIn = /not signed in|sign in|log ?in|unauthori[sz]ed|\b401\b|api key/i

interface CheckRequest {
  agent: string
  profile: string | null
  credentialId: number | null
  greet: boolean
}

/** Checks agents. A check starts the agent in an empty folder, without the board's tools. */
export interface AgentChecks {
  /**
   * Starts a check in the background. Its result is stored with the agent.
   * @throws Problem AGENT_NOT_FOUND, VALIDATION_FAILED for a profile or credential that does not fit, CREDENTIAL_NOT_FOUND,
   *   CONFLICT while a check of the agent or four others run, or if no slot is free, BUDGET_EXHAUSTED of the credential,
   *   FORBIDDEN for a caller who cannot start agents in any project; InvalidConfig
   */
  start(caller: Caller, request: CheckRequest): Promise<AgentCheck>
  isRunning(agent: string, profile: string | null): boolean
  /** Ends every check. */
  stop(): Promise<void>
}

type Dependencies = Pick<
  RunDependencies,
  'config' | 'db' | 'processTrees' | 'catalogue' | 'sandbox' | 'worktrees' | 'deviceGrants' | 'seal' | 'prices'
> & { agents: Pick<Supervisor, 'holdSlot'> & Agents }

export function createAgentChecks(dependencies: Dependencies): AgentChecks {
  const running = new Map<string, { over: Promise<void>; abort: AbortController }>()
  const keyOf = (agent: string, profile: string | null) => `${agent} ${profile ?? ''}`
  return {
    isRunning: (agent, profile) => running.has(keyOf(agent, profile)),
    async start(caller, request) {
      await requireMayCheckAgents(dependencies.db, caller, request)
      const chosen = await readContext(dependencies, caller, request)
      const key = keyOf(request.agent, request.profile)
      if (running.has(key)) throw new Problem('CONFLICT', 'A check of this agent is already in progress.')
      if (running.size >= maxChecks)
        throw new Problem('CONFLICT', `${maxChecks} checks are in progress. Wait until one finishes.`)
      const release = await dependencies.agents.holdSlot({
        projectId: 0,
        projectSlots: null,
        agent: request.agent,
        credentialId: request.credentialId,
        credentialSlots: chosen.credential?.agentSlots ?? null,
      })
      const usage = await beginCheckUsage(dependencies, caller, request).catch((error: unknown) => {
        release()
        throw error
      })
      const begun: AgentCheck = {
        status: 'running',
        greeted: request.greet,
        startedAt: dependencies.config.clock().toISOString(),
        endedAt: null,
        detail: null,
        inputTokens: null,
        outputTokens: null,
      }
      const abort = new AbortController()
      const over = keepCheck(dependencies, request, begun, usage, () => runCheck(dependencies, chosen, abort.signal))
        .catch(() => {
          /* The server stops: the check counts as failed. */
        })
        .finally(() => {
          running.delete(key)
          release()
        })
      running.set(key, { over, abort })
      return begun
    },
    stop: async () => {
      for (const { abort } of running.values()) abort.abort()
      await Promise.all([...running.values()].map(({ over }) => over))
    },
  }
}

/** Runs a check between the records of its beginning and its end. */
async function keepCheck(
  { config, db }: Dependencies,
  { agent, profile, credentialId, greet }: CheckRequest,
  begun: AgentCheck,
  usage: CheckUsage,
  run: () => ReturnType<typeof runCheck>,
): Promise<void> {
  const write = (change: Partial<OffersRow>) =>
    retryWhileBusy(() =>
      db.transaction(tx => writeOffers(tx, { host: tx.host ?? '', agent, profile: profile ?? '', ...change })),
    )
  await write({ checkState: JSON.stringify(begun) })
  const { ending, offers, model } = await run()
  await usage.end(ending, model)
  const endedAt = config.clock().toISOString()
  // A personal credential's offers are not shared with other users.
  const learned = credentialId === null && {
    ...(offers && { ...offers, seenAt: endedAt }),
    signedIn: signedInBy(greet, ending),
  }
  await write({ ...learned, checkState: JSON.stringify({ ...begun, ...ending, endedAt }) })
}

interface Chosen {
  provider: AgentProvider
  profile: ProfileRow | null
  credential: CredentialRow | null
  greet: boolean
}

async function readContext(
  { db, catalogue }: Dependencies,
  caller: Caller,
  { agent, profile: profileName, credentialId, greet }: CheckRequest,
): Promise<Chosen> {
  const entries = await catalogue.list()
  const entry = entries.find(({ provider }) => provider.id === agent)
  if (!entry) throw new Problem('AGENT_NOT_FOUND')
  const profile = profileName === null ? null : await readProfileNamed(db, profileName)
  if (profile === undefined || (profile && profile.agent !== agent))
    throw invalid('profile', `must be a profile of ${agent}`)
  const credential = credentialId === null ? null : await findCredential(db, caller, credentialId)
  if (credential && !entry.provider.credentials[credential.provider])
    throw invalid('credentialId', doesNotTake(entry.provider, credential.provider, entries))
  return { provider: entry.provider, profile, credential, greet }
}

type Offers = Pick<OffersRow, 'version' | 'models' | 'modes' | 'efforts'>
type Ending = Pick<AgentCheck, 'status' | 'detail' | 'inputTokens' | 'outputTokens'>

async function runCheck(
  dependencies: Dependencies,
  chosen: Chosen,
  aborted: AbortSignal,
): Promise<{ ending: Ending; offers?: Offers; model?: string | null }> {
  const children: Child[] = []
  const learned: { offers?: Offers; model?: string | null } = {}
  const cwd = await makeTrialFolder(dependencies.config.dataDir)
  let link: AgentLink | undefined
  let sandbox = noSandbox
  try {
    const opened = await openChosen(dependencies, chosen)
    const prepared = await prepareLaunch({
      ...opened,
      provider: chosen.provider,
      cwd,
      dataDir: dependencies.config.dataDir,
      board: null,
      mode: 'plan',
    })
    const state = () => openState(chosen.provider, opened.credential, prepared)
    const place = { ...placeOf(dependencies), openState: state, sandboxOverride: chosen.provider.sandboxOverride }
    sandbox = await openRunSandbox(dependencies.sandbox, defaultSandbox, prepared, place)
    const launch = sandbox.inside(prepared)
    const replies = createListener(() => link)
    link = await openAgent(launch, replies.listener, async command => {
      const child = await dependencies.processTrees.spawn({
        ...(await sandbox.wrap(command)),
        stdin: 'pipe',
        kind: 'agent',
      })
      children.push(child)
      return child
    })
    const started = await link.start()
    Object.assign(learned, { offers: offersOf(started, link.info.version), model: started.model })
    const usage = chosen.greet ? await runGreeting(link, aborted) : null
    return { ...learned, ending: { status: 'ok', detail: chosen.greet ? replies.text() : null, ...tokens(usage) } }
  } catch (error) {
    const { detail = null } = endingOf(error)
    return { ...learned, ending: { status: 'failed', detail, ...tokens(null) } }
  } finally {
    link?.close()
    await endCheck(dependencies.worktrees, children, sandbox, cwd)
  }
}

/** A check does not belong to a project. */
const placeOf = ({ config }: Dependencies) => ({
  dataDir: config.dataDir,
  worktreeRoots: foreignRoots(config),
  projectPath: null,
  worktreePath: null,
  openGit: null,
  isReadOnly: false,
})

async function endCheck(
  worktrees: Worktrees,
  children: readonly Child[],
  sandbox: RunSandbox,
  cwd: string,
): Promise<void> {
  await Promise.all(children.map(child => child.stop({ graceMs: stopGraceMs })))
  await sandbox.close()
  await removeTrial(worktrees, cwd).catch(() => {
    // A failed removal does not affect the result. The next start of the server removes the folder.
  })
}

async function openChosen(dependencies: Dependencies, { provider, profile, credential }: Chosen) {
  const opened: AgentCredential | null = credential && (await openCredential(dependencies, credential))
  const problem = opened && credentialProblem(provider, opened)
  if (problem) throw new Problem('CONFLICT', problem)
  return {
    credential: opened,
    profile: profile && openProfile(dependencies.seal, profile),
    choice: { model: profile?.model ?? null, mode: null, effort: profile?.effort ?? null },
  }
}

/** One turn without permissions, of bounded length. */
async function runGreeting(link: AgentLink, aborted: AbortSignal): Promise<TurnUsage | null> {
  const prompted = link.prompt(greeting)
  const late = delay(greetTimeoutMs, undefined, { ref: false, signal: aborted }).catch(() => {})
  const first = await Promise.race([prompted, late.then(() => undefined)])
  if (first) return first.usage
  await link.cancel()
  throw new Problem('CONFLICT', `The agent did not answer within ${greetTimeoutMs / 1000} seconds.`)
}

function createListener(link: () => AgentLink | undefined): { listener: AgentListener; text(): string } {
  let text = ''
  return {
    text: () => toPlainLine(text).slice(0, maxDetail),
    listener: {
      update: ({ sessionUpdate, content }) => {
        const chunk = (content as { text?: unknown } | undefined)?.text
        if (sessionUpdate === 'agent_message_chunk' && typeof chunk === 'string' && text.length < maxDetail)
          text += chunk
      },
      permission: ({ id }) => {
        link()?.answerPermission(id, null)
      },
      permissionWithdrawn: () => {},
    },
  }
}

const offersOf = ({ models, modes, efforts }: StartedSession, version: string | null) => ({
  version,
  models: JSON.stringify(models),
  modes: JSON.stringify(modes),
  efforts: JSON.stringify(efforts),
})
const tokens = (usage: TurnUsage | null) => ({
  inputTokens: usage?.inputTokens ?? null,
  outputTokens: usage?.outputTokens ?? null,
})

/** An answer to the greeting proves that the agent is signed in. Some agents open a session without a sign-in. */
function signedInBy(greeted: boolean, { status, detail }: Ending): number | null {
  if (status === 'ok') return greeted ? 1 : null
  return detail !== null && notSignedIn.test(detail) ? 0 : null
}
