import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { cardIdOf } from '../cards/cardIds.ts'
import { openContext, openUserContext, type Context } from '../context/context.ts'
import { pickNamed, resolveCredential, resolveOrganization, resolveProject } from '../context/resolve.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { confirm } from '../input/prompt.ts'
import type { Column } from '../output/output.ts'
import { escapeControls } from '../output/text.ts'

type Budget = Output<Contract['budgets']['list']>[number]

const units = ['usd', 'tokens', 'runs', 'hours'] as const
const periods = ['day', 'month', 'total'] as const
const columns: Column<Budget>[] = [
  { name: 'id', style: 'id', align: 'right', value: budget => budget.id },
  { name: 'scope', value: ({ scope, scopeId }) => `${scope} ${scopeId}` },
  { name: 'scopeName', header: 'NAME', style: 'title', value: budget => budget.scopeName },
  { name: 'spent', align: 'right', value: budget => roundAmount(budget.spent, budget.unit) },
  { name: 'limit', align: 'right', value: budget => roundAmount(budget.limit, budget.unit) },
  { name: 'unit', value: budget => budget.unit },
  { name: 'period', value: budget => budget.period },
  { name: 'state', style: 'status', value: budget => budget.state },
  { name: 'unknownRuns', header: 'UNKNOWN', align: 'right', spare: true, value: budget => budget.unknownRuns },
  { name: 'resetsAt', header: 'RESETS', style: 'time', value: budget => budget.resetsAt },
]
const roundAmount = (amount: number, unit: Budget['unit']) =>
  unit === 'usd' ? amount.toFixed(2) : Number(amount.toFixed(unit === 'hours' ? 3 : 0))

export function register(budgets: Command): void {
  registerList(budgets)
  registerSet(budgets)
  registerDelete(budgets)
}

function registerList(budgets: Command): void {
  const list = budgets
    .command('list')
    .summary('List budgets and their usage')
    .description(
      'List the budgets that you can view, and their usage. With -P, list the budgets that apply to the agents of that project: its own, and those of its cards, its organization and its credentials. UNKNOWN is the number of runs without reported usage. Days and months are in UTC.',
    )
    .option('--card <card>', 'only of this card')
    .option('--org <organization>', 'only of this organization (name or ID)')
    .action(async ({ card, org }: { card?: string; org?: string }) => {
      const context = await openContext(list)
      await context.out.list(await listBudgets(context, { card, org }), columns, {
        empty: 'No budgets. Set one: board budgets set project --limit 20',
      })
    })
  prints(list, 'budgets.list')
  example(list, 'board budgets list', 'board budgets list -P web', 'board budgets list --json id,spent,limit,state')
}

async function listBudgets(context: Context, { card, org }: { card?: string; org?: string }): Promise<Budget[]> {
  const { client, external, globals } = context
  if (card !== undefined) return client.budgets.list({ cardId: Number(cardIdOf(card)) })
  if (org !== undefined)
    return client.budgets.list({ organizationId: Number((await resolveOrganization(context, org)).id) })
  // An API key can read only the budgets of its project.
  return external || globals.project !== undefined
    ? client.budgets.listProject({ projectId: (await context.project()).id })
    : client.budgets.list({})
}

interface SetOptions {
  limit: number
  unit: Budget['unit']
  period: Budget['period']
}

function registerSet(budgets: Command): void {
  const set = budgets
    .command('set <scope>')
    .summary('Create or change a budget')
    .description(
      'Create or change the budget of a project, a card, an organization or a credential: project (the current one), project:NAME, card:ID, org:NAME or credential:NAME. A budget with the same unit and period is changed. Usage since the start of the period counts. At 80%, the board notifies people. At 100%, agents wait until you raise or delete the budget, or its next period starts.',
    )
    .addOption(
      new Option('--limit <amount>', 'amount: 20, 0.5, $20, 500k, 2M').argParser(amountOf).makeOptionMandatory(),
    )
    .addOption(new Option('--unit <unit>', 'unit of the limit').choices(units).default('usd'))
    .addOption(new Option('--period <period>', 'period of the limit, in UTC').choices(periods).default('month'))
    .action(async (scope: string, { limit, unit, period }: SetOptions) => {
      const context = await openUserContext(set)
      const { client, out } = context
      const of = await resolveScope(context, scope)
      const present = (await client.budgets.list({})).find(
        each => each.scope === of.scope && each.scopeId === of.scopeId && each.unit === unit && each.period === period,
      )
      const budget = present
        ? await client.budgets.update({ id: present.id, limit })
        : await client.budgets.create({ ...of, unit, limit, period })
      await out.record(budget, columns)
      if (budget.state === 'exhausted') out.done('The budget is already used up, and its agents are paused.')
    })
  prints(set, 'budgets.list')
  example(
    set,
    'board budgets set project --limit 20',
    'board budgets set card:12 --limit 2M --unit tokens --period total',
    'board budgets set org:Crew --limit 8 --unit hours --period day',
  )
}

function registerDelete(budgets: Command): void {
  const command = budgets
    .command('delete <budget>')
    .summary('Delete a budget')
    .description('Delete a budget. Agents that wait for it continue.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(command)
      const found = (await context.client.budgets.list({})).map(each => ({ ...each, name: each.id }))
      const { id, scope, scopeId, scopeName } = pickNamed('budget', found, wanted, 'board budgets list')
      await confirm(context, `Delete budget ${id} of ${scope} ${scopeId} "${escapeControls(scopeName)}"?`, yes)
      await context.client.budgets.delete({ id })
      context.out.done(`Deleted budget ${id}.`)
    })
  example(command, 'board budgets delete 3')
}

/** Parses the scope of a budget. @throws Failure (usage, not found) */
async function resolveScope(context: Context, text: string): Promise<{ scope: Budget['scope']; scopeId: string }> {
  const [, kind = '', name] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? []
  if (kind === 'project')
    return {
      scope: 'project',
      scopeId: (await (name === undefined ? context.project() : resolveProject(context, name))).id,
    }
  if (kind === 'card' && name) return { scope: 'card', scopeId: cardIdOf(name) }
  if ((kind === 'org' || kind === 'organization') && name)
    return { scope: 'organization', scopeId: (await resolveOrganization(context, name)).id }
  if (kind === 'credential' && name)
    return { scope: 'credential', scopeId: (await resolveCredential(context, name)).id }
  throw usage(`"${text}" is not a budget scope`, {
    hint: 'specify project, project:NAME, card:ID, org:NAME or credential:NAME',
    see: 'board budgets set --help',
  })
}

const factors = { '': 1, k: 1e3, m: 1e6 } as const

function amountOf(text: string): number {
  const match = /^\$?(\d{1,12}(?:\.\d{1,9})?)([km]?)$/i.exec(text.trim())
  const amount = match ? Number(match[1]) * factors[match[2]!.toLowerCase() as keyof typeof factors] : 0
  if (!(amount > 0)) throw new InvalidArgumentError('must be an amount above 0, such as 20, 0.5, $20, 500k or 2M.')
  return amount
}
