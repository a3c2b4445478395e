import { mkdir } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { isLocalOnly, type ServerConfig } from '../../../config/server.ts'
import type { SandboxLimits } from '../../../contract/agents/sandbox.ts'
import type { AgentChoice } from '../../../contract/agents/agentChoice.ts'
import { cardLevels, noChoice, resolveChoice } from '../../../domain/agents/agentChoice.ts'
import { holdBack } from '../../../domain/agents/budgetPauses.ts'
import { credentialFor } from '../../../domain/accounts/credentials.ts'
import type { Workplace } from '../../../domain/worktrees/worktrees.ts'
import { environmentOf } from '../../../identity/agentProfiles.ts'
import { headersOf } from '../../../identity/credentials.ts'
import type { Seal } from '../../../identity/seal.ts'
import { mintAgentToken, maxTokenSecs } from '../../../identity/agentTokens.ts'
import type { AskedHost } from '../../../sandbox/network/askedHosts.ts'
import type { Mount } from '../../../sandbox/mount.ts'
import { readProfileNamed, type ProfileRow } from '../../../store/agents/agentProfiles.ts'
import { readCard, type CardRow } from '../../../store/cards/cards.ts'
import { readCredential as findCredential, type CredentialRow } from '../../../store/accounts/credentials.ts'
import type { Reader } from '../../../store/engine/database.ts'
import { readProject, sandboxOf, type ProjectRow } from '../../../store/projects/projects.ts'
import { retryWhileBusy } from '../../../store/engine/retry.ts'
import { updateSession, type SessionRow } from '../../../store/agents/sessions.ts'
import { AgentFailure, type AgentLaunch } from '../../link/agentLink.ts'
import type { AgentProvider } from '../../providers/builtInProviders.ts'
import { credentialProblem, type AgentCredential } from '../../providers/credentialEnvironment.ts'
import { doesNotTake } from '../../providers/providerCatalogue.ts'
import { modelHosts } from '../../providers/modelHosts.ts'
import { openConversations } from '../../providers/agentHomes.ts'
import { prepareLaunch, type LaunchRequest } from '../../providers/prepareLaunch.ts'
import type { RunDependencies } from '../runDependencies.ts'
import { RunStopped } from '../sessionEndings.ts'
import type { SessionRecord } from '../sessionRecord.ts'
import { prepareCommands, prepareWorkplace } from './prepareWorkplace.ts'
import { refusalAsLaunchFailure, networkParts, foldersOf } from './projectCommands.ts'
import type { SessionCommands } from '../runCommands.ts'
import { makeFilesFolder } from './promptFiles.ts'
import { tellOfRepositories } from './repositoriesBeside.ts'
import type { SandboxPlace } from '../sandbox/sessionPolicy.ts'
import { openRunSandbox, type RunSandbox } from '../sandbox/runSandbox.ts'

/** `remark` is a message for the transcript about the folder that the agent works in. */
export interface PreparedSession {
  launch: AgentLaunch
  sandbox: RunSandbox
  limits: SandboxLimits
  /** The commands that the project runs around the session. Null for a session that only talks. */
  commands: SessionCommands | null
  remark: string | null
  /** Notes for a new agent about its workplace, in addition to its task. Empty if there are none. */
  about: string
}

/**
 * Prepares a session's launch: its worktree, its credential and its token.
 * @throws AgentFailure launch_failed, Problem of the store, RunStopped if the session was ended meanwhile
 */
export async function prepareSession(
  dependencies: RunDependencies,
  record: SessionRecord,
  session: SessionRow,
  onAsked: (asked: AskedHost) => void,
): Promise<PreparedSession> {
  const { db, config, url } = dependencies
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  if (!card || !project) throw new AgentFailure('launch_failed', 'The card is not there any more.')
  const chosen = session.purpose === 'terminal' ? null : await readChosen(dependencies, session, card)
  const workplace = await retryWhileBusy(() => prepareWorkplace(dependencies, session, card, project))
  const credential = chosen ? await readCredential(dependencies, session, card, chosen) : null
  const token = await takeCredential(dependencies, record, credential)
  const common = {
    cwd: workplace.place.cwd,
    dataDir: config.dataDir,
    board: { url, token, projectId: project.id, cardId: card.id },
    author: null,
  }
  const prepared = await prepareLaunch({
    ...common,
    provider: chosen?.provider ?? null,
    profile: chosen?.profile ?? null,
    choice: chosen?.choice ?? { model: null, mode: null, effort: null },
    credential,
    mode: session.purpose === 'pre' ? 'plan' : 'work',
  })
  const filesFolder = await makeFilesFolder(prepared.env.TMPDIR!)
  const launch = { ...prepared, env: { ...prepared.env, ...workplace.variables }, filesFolder }
  const sandbox = await openSessionSandbox(
    dependencies,
    { session, project, ...workplace, chosen, credential },
    launch,
    onAsked,
  )
  const commands = isWork(session)
    ? await prepareCommands(dependencies, project, common, workplace, sandbox).catch(async (error: unknown) => {
        await sandbox.close()
        throw error
      })
    : null
  return {
    launch: sandbox.inside(launch),
    sandbox,
    limits: sandboxOf(project),
    commands,
    remark: [workplace.remark, ...sandbox.remarks].filter(Boolean).join('\n') || null,
    about: tellOfRepositories(workplace.place),
  }
}

/** Records the credential and creates the session's token. @throws RunStopped also if the credential's budget is exhausted */
async function takeCredential(
  { db, agents }: RunDependencies,
  record: SessionRecord,
  credential: AgentCredential | null,
): Promise<string> {
  const token = await retryWhileBusy(() =>
    db.transaction(async tx => {
      const { id, cardId, ...row } = await record.requireOwnRow(tx)
      const credentialId = credential?.id ?? null
      await updateSession(tx, id, { credentialId })
      const session = { ...row, id, cardId, credentialId }
      if (await holdBack(tx, agents, session, { cardId: 0, projectId: 0, credentialId })) return undefined
      return (await mintAgentToken(tx, { cardId, sessionId: id, ttlSecs: maxTokenSecs })).token
    }),
  )
  if (token === undefined) throw new RunStopped()
  return token
}

const isWork = ({ purpose }: SessionRow): boolean => purpose === 'work' || purpose === 'terminal'

async function openSessionSandbox(
  dependencies: RunDependencies,
  about: {
    session: SessionRow
    project: ProjectRow
    place: Workplace
    chosen: Chosen | null
    credential: AgentCredential | null
  },
  launch: AgentLaunch,
  onAsked: (asked: AskedHost) => void,
): Promise<RunSandbox> {
  const { config, sandbox } = dependencies
  const { session, project, place, chosen, credential } = about
  const provider = chosen?.provider ?? null
  return openRunSandbox(
    sandbox,
    sandboxOf(project),
    launch,
    {
      ...foldersOf(dependencies, project, place),
      openState: () => openState(provider, credential, launch),
      sandboxOverride: provider?.sandboxOverride,
      isReadOnly: session.purpose === 'pre',
      models: modelsOf(config, provider, credential, launch),
    },
    networkParts(dependencies, project.id, onAsked),
  )
}

const baseUrlVariable = /^(?:\w+_)?(?:BASE_URL|HOST|ENDPOINT)$/

/** The hosts of an agent's model. Addresses that the operator chose can be in the server's network, as without a sandbox. */
function modelsOf(
  config: ServerConfig,
  provider: AgentProvider | null,
  credential: AgentCredential | null,
  { env }: AgentLaunch,
): SandboxPlace['models'] {
  if (!provider) return { hosts: [], endpoints: [] }
  const urls = Object.entries(env).flatMap(([name, value]) =>
    baseUrlVariable.test(name) && /^https?:/.test(value) ? [value] : [],
  )
  const mayBePrivate = !credential || isLocalOnly(config) || config.allowPrivateWebhooks
  return {
    hosts: [...modelHosts(provider.id, credential?.provider ?? null), ...(mayBePrivate ? [] : urls.flatMap(hostOf))],
    endpoints: mayBePrivate ? urls : [],
  }
}

const hostOf = (url: string): string[] => (URL.canParse(url) ? [new URL(url).host] : [])

/**
 * The files and folders that an agent without a credential can change: its state in the account's home, and the paths that
 * variables name. The conversations in them are the project's.
 * @throws AgentFailure launch_failed
 */
export async function openState(
  provider: AgentProvider | null,
  credential: AgentCredential | null,
  { env, hasOwnHome, ownFolder }: AgentLaunch,
): Promise<Mount[]> {
  if (!provider || credential) return []
  // An agent could have put a link anywhere in its own home.
  const own = hasOwnHome ? [] : provider.state.map(path => resolve(env.HOME!, path))
  const named = provider.account
    .filter(name => /_(HOME|DIR)$/.test(name))
    .flatMap(name => env[name] ?? [])
    .filter(isAbsolute)
  for (const folder of own)
    if (!folder.endsWith('.json'))
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {
        /* The folder does not exist. */
      })
  const conversations = await Promise.all([
    ...(hasOwnHome ? [] : [openConversations(ownFolder!, env.HOME!, provider.conversations)]),
    ...named.map(folder => openConversations(ownFolder!, folder, provider.conversations.map(withoutFirst))),
  ])
  return [...[...own, ...named].map((target): Mount => ({ kind: 'rw', target })), ...conversations.flat()]
}

/** The path below a folder that a variable names, such as CLAUDE_CONFIG_DIR, which replaces the first folder of the path. */
const withoutFirst = (path: string): string => path.slice(path.indexOf('/') + 1)

/** The settings of a session: its agent and profile are fixed when it is queued, the agent's options are the current ones. */
interface Chosen {
  entries: Awaited<ReturnType<RunDependencies['catalogue']['list']>>
  provider: AgentProvider
  row: ProfileRow | null
  profile: LaunchRequest['profile']
  choice: LaunchRequest['choice']
}

async function readChosen(
  { db, catalogue, seal }: RunDependencies,
  session: SessionRow,
  card: CardRow,
): Promise<Chosen> {
  const entries = await catalogue.list().catch((error: Error) => {
    throw new AgentFailure('launch_failed', error.message)
  })
  const entry = entries.find(({ provider }) => provider.id === session.agent)
  if (!entry) throw new AgentFailure('launch_failed', `There is no agent ${session.agent} any more.`)
  const row = session.profile === null ? null : await readProfileNamed(db, session.profile)
  if (row === undefined) throw new AgentFailure('launch_failed', `There is no profile ${session.profile} any more.`)
  try {
    return {
      entries,
      provider: entry.provider,
      row,
      profile: row && {
        name: row.name,
        command: row.command === null ? null : (JSON.parse(row.command) as string[]),
        args: JSON.parse(row.args) as string[],
        env: environmentOf(seal, row),
      },
      choice: await resolveChoice(db, await levelsOf(db, session, card), session.agent),
    }
  } catch (error) {
    throw refusalAsLaunchFailure(error)
  }
}

/**
 * If the session's profile differs from the one that the card's levels choose, the settings of the session's profile take
 * precedence.
 */
async function levelsOf(db: Reader, { agent, profile }: SessionRow, card: CardRow): Promise<AgentChoice[]> {
  const levels = await cardLevels(db, card)
  const chosen = await resolveChoice(db, levels, agent)
  return profile === null || chosen.profile?.name === profile ? levels : [{ ...noChoice, agent, profile }, ...levels]
}

/**
 * The decrypted credential that was chosen for the session, or the card's. The agent is not started with a different credential.
 */
async function readCredential(
  { db, deviceGrants, seal }: RunDependencies,
  { askedCredentialId }: SessionRow,
  card: CardRow,
  { provider, row: profile, entries }: Chosen,
): Promise<AgentCredential | null> {
  const row =
    askedCredentialId === null ? await credentialFor(db, card, profile) : await findCredential(db, askedCredentialId)
  if (!row && askedCredentialId !== null)
    throw new AgentFailure('launch_failed', `There is no credential ${askedCredentialId} any more.`)
  if (!row) return null
  if (!provider.credentials[row.provider])
    throw new AgentFailure('launch_failed', doesNotTake(provider, row.provider, entries))
  const credential = await openCredential(deviceGrants, seal, row).catch(error => {
    throw refusalAsLaunchFailure(error)
  })
  const problem = credentialProblem(provider, credential)
  if (problem) throw new AgentFailure('launch_failed', problem)
  return credential
}

/** A credential in the form that agents accept. @throws Problem CONFLICT if there is no secret yet, SEALED_WITH_OTHER_KEY */
export async function openCredential(
  deviceGrants: RunDependencies['deviceGrants'],
  seal: Seal,
  row: CredentialRow,
): Promise<AgentCredential> {
  const { id, provider, baseUrl, models } = row
  const { kind, token } = await deviceGrants.secretOf(row)
  return { id, provider, kind, token, baseUrl, headers: headersOf(seal, row), models: JSON.parse(models) as string[] }
}
