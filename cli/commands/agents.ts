import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { inItsProject } from '../cards/cardApi.ts'
import { openContext, openUserContext, requireScreen, requireUser, type Context } from '../context/context.ts'
import { example, groupVerbs, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { answerCommand, answersOf, questionLines } from '../agents/questions.ts'
import { versionFields } from '../agents/agentTrials.ts'
import { printSession, sessionFields } from '../agents/sessionFields.ts'
import { registerAnswer } from './agents/answer.ts'
import { registerMessages } from './agents/messages.ts'
import { statusLines } from './projects/sandbox.ts'
import { registerProfiles } from './agents/profiles.ts'
import { registerSessionCommands } from './agents/steering.ts'

type Active = Output<Contract['agents']['active']>[number]
type Session = Output<Contract['agents']['sessions']>[number]
type Summary = Output<Contract['agents']['history']>[number]
type SlashCommand = Output<Contract['agents']['slashCommands']>[number]
type Provider = Output<Contract['agents']['providers']>[number]

const activeColumns: Column<Active>[] = [
  { name: 'cardId', header: 'CARD', style: 'id', align: 'right', value: agent => agent.cardId },
  { name: 'cardTitle', header: 'TITLE', style: 'title', value: agent => agent.cardTitle },
  { name: 'status', style: 'status', value: agent => agent.status },
  { name: 'agent', value: agent => agent.agent },
  { name: 'startedAt', header: 'STARTED', style: 'time', value: agent => agent.startedAt },
]
const sessionColumns: Column<Session>[] = sessionFields
  .filter(({ name }) => !['cardId', 'baseCommit', 'retrying', 'silentSince', 'sandbox'].includes(name))
  .map(({ header, ...field }) => ({ ...field, header: header?.toUpperCase() }))
const historyColumns: Column<Summary>[] = [
  { name: 'sessionId', header: 'ID', style: 'id', align: 'right', value: session => session.sessionId },
  { name: 'agent', value: session => session.agent },
  { name: 'status', style: 'status', value: session => session.status },
  { name: 'statusReason', header: 'REASON', value: session => session.statusReason },
  { name: 'startedAt', header: 'STARTED', style: 'time', value: session => session.startedAt },
  { name: 'endedAt', header: 'ENDED', style: 'time', value: session => session.endedAt },
  { name: 'messages', align: 'right', value: session => session.messages },
  { name: 'toolCalls', header: 'TOOLS', align: 'right', value: session => session.toolCalls },
  { name: 'filesChanged', header: 'FILES', align: 'right', value: session => session.filesChanged },
  { name: 'summary', style: 'text', value: session => session.summary },
]
const providerColumns: Column<Provider>[] = [
  { name: 'id', style: 'id', value: agent => agent.id },
  { name: 'name', style: 'title', spare: true, value: agent => agent.name },
  { name: 'installed', value: agent => agent.installed },
  { name: 'protocol', spare: true, value: agent => agent.protocol },
  { name: 'credentialProviders', header: 'CREDENTIALS', spare: true, value: agent => agent.credentialProviders },
  {
    name: 'howToGet',
    header: 'INSTALL WITH',
    style: 'text',
    value: agent => (agent.installed ? null : agent.install),
  },
  ...versionFields.map(field => ({ ...field, spare: true })),
  { name: 'models', spare: true, align: 'right', value: ({ models }) => (models.length > 0 ? models.length : null) },
  { name: 'command', hidden: true, value: agent => agent.command },
]
const commandColumns: Column<SlashCommand>[] = [
  { name: 'name', style: 'id', value: command => command.name },
  { name: 'description', style: 'text', value: command => command.description },
  { name: 'agents', value: command => command.agents.join(', ') },
]

export function register(agents: Command): void {
  registerList(agents)
  const view = agents
    .command('view <card>')
    .summary("Show a card's latest session")
    .description("Show the latest session of a card's agent.")
    .action(async (id: string) => showSession(await openContext(view), id))
  prints(view, 'agents.get')
  example(view, 'board agents view 12', 'board agents view 12 --json status,usage')

  const sessions = agents
    .command('sessions <card>')
    .summary("List a card's sessions")
    .description("List the sessions of a card's agents, oldest first.")
    .action(async (id: string) => {
      const context = await openContext(sessions)
      await context.out.list(
        await inItsProject(context, id, place => context.client.agents.sessions(place)),
        sessionColumns,
        { empty: 'No sessions.' },
      )
    })
  prints(sessions, 'agents.sessions')
  example(sessions, 'board agents sessions 12')

  const history = agents
    .command('history <card>')
    .summary("List what a card's sessions did")
    .description("List the sessions of a card's agents with their results, oldest first.")
    .action(async (id: string) => {
      const context = await openContext(history)
      await context.out.list(
        await inItsProject(context, id, place => context.client.agents.history(place)),
        historyColumns,
        { empty: 'No sessions.' },
      )
    })
  prints(history, 'agents.history')
  example(history, 'board agents history 12', 'board agents history 12 --json summary')

  registerCommands(agents)
  registerMessages(agents)
  registerSessionCommands(agents)
  registerAnswer(agents)
  registerProfiles(agents)
  groupVerbs(agents, {
    'See agents': 'list providers view sessions history messages commands',
    'Steer them': 'send answer approve retry relaunch relay',
    'Set them up': 'profiles',
  })
}

function registerList(agents: Command): void {
  const list = agents
    .command('list')
    .summary('List agents at work')
    .description('List the cards of a project with an active agent.')
    .option('-w, --watch', 'show the live list until q or Ctrl-C')
    .action(async ({ watch }: { watch?: boolean }) => listActive(await openContext(list), watch))
  prints(list, 'agents.active')
  example(list, 'board agents list', 'board agents list --watch', 'board agents list -q | board cards wait -')

  const providers = agents
    .command('providers')
    .summary('List agents of the server')
    .description(
      'List the agents of the server: whether they are installed, how to install the others, the version that started last, whether the board was tested with it, and the number of models (details: board doctor agents). To add agents, use "agents" in config.json in the server\'s data folder.',
    )
    .action(async () => {
      const context = await openUserContext(providers)
      const [known, sandbox] = await Promise.all([context.client.agents.providers(), context.client.agents.sandbox()])
      await context.out.list(known, providerColumns)
      for (const line of statusLines(sandbox)) context.out.done(line)
    })
  prints(providers, 'agents.providers')
  example(providers, 'board agents providers', "board agents providers --jq '.[] | select(.installed) | .id'")
}

function registerCommands(agents: Command): void {
  const commands = agents
    .command('commands')
    .summary('List commands of agents')
    .description(
      "List the commands of a project's agents: announced commands, and files in its folder. To run a command, send a message that starts with a slash and its name: board agents send.",
    )
    .action(async () => {
      const context = await openContext(commands)
      await context.out.list(
        await context.client.agents.slashCommands({ projectId: (await context.project()).id }),
        commandColumns,
        { empty: 'No commands.' },
      )
    })
  prints(commands, 'agents.slashCommands')
  example(commands, 'board agents commands', 'board agents commands --json name')
}

async function listActive(context: Context, watch: boolean | undefined): Promise<void> {
  const project = await context.project()
  const load = () => context.client.agents.active({ projectId: project.id })
  if (!watch) return context.out.list(await load(), activeColumns, { empty: 'No agents are running.' })
  requireScreen(context)
  requireUser(context, 'agents list --watch')
  const { watchList } = await import('../watch/watchList.ts')
  await watchList<Active>(
    context,
    project.id,
    { title: project.name, noun: 'agent', columns: activeColumns },
    async () => ({ rows: await load(), more: false }),
  )
}

async function showSession(context: Context, id: string): Promise<void> {
  const session = await inItsProject(context, id, place => context.client.agents.get(place))
  await printSession(context, session)
  if (session.notBefore !== null && session.status === 'queued')
    context.out.done(
      `The agent reached its usage limit and waits until ${new Date(session.notBefore).toLocaleString('sv')}. To continue now: board agents retry ${id}`,
    )
  if (session.statusReason === 'blocked')
    context.out.done(
      `The agent starts when its card is no longer blocked. To start it now: board agents retry ${id} --force`,
    )
  if (session.silentSince !== null) sayWhatSilenceMeans(context, session, id)
  for (const question of session.questions) {
    const [title, ...lines] = questionLines(question)
    for (const line of [`Question: ${title}`, ...lines]) context.out.done(line)
    if (question.options.length > 0) context.out.done(`Answers: ${answersOf(question)}`)
    context.out.done(`Answer with: ${answerCommand(question, id)}`)
  }
}

function sayWhatSilenceMeans({ out }: Context, { statusReason, silentSince }: Session, id: string): void {
  const since = `The agent has been silent since ${new Date(silentSince!).toLocaleTimeString('sv')}`
  if (statusReason !== 'silent') return out.done(`${since}: it might be waiting for its model.`)
  out.done(`${since}, and its processes are idle. It might continue automatically.`)
  out.done(`To see its work: board agents messages ${id}. To end its turn: board cards cancel ${id}`)
}
