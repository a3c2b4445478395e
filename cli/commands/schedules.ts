import type { Command } from 'commander'
import { openContext, type Context } from '../context/context.ts'
import { resolveColumn, resolveSchedule } from '../context/resolve.ts'
import { cardBrief } from '../cards/cardColumns.ts'
import { withColumnName } from '../cards/cardApi.ts'
import { resolvePeople } from '../cards/planOptions.ts'
import { warnOfFolder } from '../cards/startWarnings.ts'
import { readAgentFields, isChosen } from '../agents/agentOption.ts'
import {
  addTemplateOptions,
  addTimingOptions,
  type TemplateOptions,
  type TimingOptions,
} from '../projects/scheduleOptions.ts'
import { nextRunsOf, scheduleColumns, scheduleFields } from '../projects/scheduleColumns.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { confirm } from '../input/prompt.ts'
import { readPrompt } from '../input/promptOption.ts'

interface AddOptions extends TimingOptions, TemplateOptions {
  title?: string
  disable?: boolean
  dryRun?: boolean
}
interface EditOptions extends TimingOptions, TemplateOptions {
  name?: string
  title?: string
  enable?: boolean
  disable?: boolean
}

export function register(schedules: Command): void {
  const list = schedules
    .command('list')
    .summary('List schedules')
    .description('List the schedules of a project with their last and next runs.')
    .action(async () => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      await context.out.list(await context.client.schedules.list({ projectId }), scheduleColumns, {
        empty: 'No schedules.',
      })
    })
  prints(list, 'schedules.list')
  example(list, 'board schedules list', 'board schedules list --json id,name,nextRunAt')
  registerView(schedules)
  registerAdd(schedules)
  registerEdit(schedules)
  registerRun(schedules)
  registerDelete(schedules)
}

function registerView(schedules: Command): void {
  const view = schedules
    .command('view <schedule>')
    .summary('Show a schedule')
    .description('Show a schedule with the template of its cards, its last run and its next three runs.')
    .action(async (wanted: string) => {
      const context = await openContext(view)
      const { projectId, scheduleId } = await resolveSchedule(context, wanted)
      const all = await context.client.schedules.list({ projectId })
      const found = all.find(({ id }) => id === scheduleId)!
      await context.out.record(found, scheduleFields(context.out), { body: found.template.prompt })
    })
  prints(view, 'schedules.list')
  example(view, 'board schedules view 3', 'board schedules view nightly --json nextRuns')
}

function registerAdd(schedules: Command): void {
  const described = schedules
    .command('add <name>')
    .summary('Create a schedule')
    .description(
      'Create a schedule that adds cards with your permissions, at the times of a cron expression or at an interval. The command prints the times of the next three runs.',
    )
    .option('-t, --title <title>', 'title of its cards; {date} is the day of the run (default: the name)')
  const add = addTemplateOptions(addTimingOptions(described))
    .option('--disable', 'create the schedule disabled')
    .option('--dry-run', 'show the next runs without adding the schedule')
    .action(async (name: string, options: AddOptions) => addSchedule(await openContext(add), name, options))
  prints(add, 'schedules.list')
  example(
    add,
    `board schedules add "Dependencies" --cron "0 9 * * 1-5" --time-zone Europe/Berlin --title "Renew dependencies, {date}" --column "In Progress"`,
    'board schedules add audit --every 1d --prompt-file audit.md --overlap queue --catch-up one',
    'board schedules add report --cron "0 8 1 * *" --dry-run',
  )
}

async function addSchedule(context: Context, name: string, options: AddOptions): Promise<void> {
  const { cron, every, timeZone, overlap, catchUp, title = name, disable, dryRun } = options
  if ((cron === undefined) === (every === undefined))
    throw usage('specify either --cron or --every', {
      hint: 'for example --cron "0 9 * * 1-5" or --every 1d',
      see: 'board schedules add --help',
    })
  const { id: projectId } = await context.project()
  const timing = { cron, everySecs: every, timeZone }
  if (dryRun) {
    const { nextRuns, timeZone: zone } = await context.client.schedules.preview({ projectId, ...timing })
    context.out.done(`Would run at these times (${zone}):`)
    return context.out.list(
      nextRuns.map(at => ({ at })),
      nextRunsOf(context.out, zone),
    )
  }
  const template = { ...(await readTemplate(context, projectId, options)), title }
  const fields = { name, ...timing, template, overlap, catchUp, enabled: !disable }
  const schedule = await context.client.schedules.create({ projectId, ...fields })
  context.out.done(`Added schedule ${schedule.id}.`)
  await context.out.record(schedule, scheduleFields(context.out))
}

function registerEdit(schedules: Command): void {
  const described = schedules
    .command('edit <schedule>')
    .summary('Change a schedule')
    .description(
      'Change a schedule. If you change more than its name, or enable it, you become its owner, and its cards are created with your permissions.',
    )
    .option('--name <name>', 'new name')
    .option('-t, --title <title>', 'title of its cards; {date} is the day of the run')
  const edit = addTemplateOptions(addTimingOptions(described))
    .option('--enable', 'enable it')
    .option('--disable', 'disable it')
    .action(async (wanted: string, options: EditOptions) => editSchedule(await openContext(edit), wanted, options))
  prints(edit, 'schedules.list')
  example(
    edit,
    'board schedules edit nightly --cron "30 2 * * *"',
    'board schedules edit 3 --disable',
    'board schedules edit 3 --overlap add --column Backlog',
  )
}

async function editSchedule(context: Context, wanted: string, options: EditOptions): Promise<void> {
  const { cron, every, timeZone, overlap, catchUp, name, title, enable, disable } = options
  if (enable && disable) throw usage('--enable and --disable are mutually exclusive')
  if (cron !== undefined && every !== undefined) throw usage('--cron and --every are mutually exclusive')
  const place = await resolveSchedule(context, wanted)
  const given = { ...(await readTemplate(context, place.projectId, options)), title }
  const template = Object.values(given).some(value => value !== undefined) ? given : undefined
  const change = {
    name,
    cron,
    everySecs: every,
    timeZone,
    overlap,
    catchUp,
    template,
    enabled: enable ? true : disable ? false : undefined,
  }
  if (Object.values(change).every(value => value === undefined))
    throw usage('nothing to change', { see: 'board schedules edit --help' })
  const schedule = await context.client.schedules.update({
    projectId: place.projectId,
    scheduleId: place.scheduleId,
    ...change,
  })
  context.out.done(`Edited schedule ${schedule.id}.`)
  await context.out.record(schedule, scheduleFields(context.out))
}

/** Returns the template options as request fields. */
async function readTemplate(context: Context, projectId: string, options: TemplateOptions) {
  const { column, label, assignee, priority, worktree, auto } = options
  const labels = label?.includes('none') ? [] : label
  return {
    prompt: await readPrompt(options),
    columnId:
      column === undefined
        ? undefined
        : column === 'none'
          ? null
          : (await resolveColumn(context, projectId, column)).id,
    labels,
    assigneeIds: assignee?.includes('none') ? [] : await resolvePeople(context, projectId, assignee),
    priority,
    useWorktree: worktree,
    autoMode: auto,
    ...(isChosen(options) && (await readAgentFields(context, options))),
  }
}

function registerRun(schedules: Command): void {
  const run = schedules
    .command('run <schedule>')
    .summary("Create a schedule's next card now")
    .description(
      'Create the next card of a schedule now, with your permissions, regardless of its last card. The next scheduled run is unchanged.',
    )
    .option('--force', 'ignore the limit of the column')
    .action(async (wanted: string, { force }: { force?: boolean }) => {
      const context = await openContext(run)
      const { projectId, scheduleId } = await resolveSchedule(context, wanted)
      const made = await context.client.schedules.run({ projectId, scheduleId, force })
      context.out.done(`Added card ${made.id}.`)
      await warnOfFolder(context, made)
      await context.out.record(context.out.quiet ? made : await withColumnName(context, made), cardBrief)
    })
  prints(run, 'schedules.run')
  example(run, 'board schedules run nightly', 'board schedules run 3 -q')
}

function registerDelete(schedules: Command): void {
  const command = schedules
    .command('delete <schedule>')
    .summary('Delete a schedule')
    .description('Delete a schedule. Its cards remain.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { projectId, scheduleId, name } = await resolveSchedule(context, wanted)
      await confirm(context, `Delete schedule ${scheduleId} "${name}"?`, yes)
      await context.client.schedules.delete({ projectId, scheduleId })
      context.out.done(`Deleted schedule ${scheduleId}.`)
    })
  example(command, 'board schedules delete nightly', 'board schedules delete 3 --yes')
}
