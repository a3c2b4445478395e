import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { webhookEvents } from '../../src/contract/automation/webhooks.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { makeOnce } from '../requests/makeOnce.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { resolveWebhook } from '../context/resolve.ts'
import { registerDeliveries } from './webhooks/deliveries.ts'

type Webhook = Output<Contract['webhooks']['list']>[number]
type NewWebhook = Output<Contract['webhooks']['create']>
type EventType = (typeof webhookEvents)[number]
interface CreateOptions {
  event: EventType[]
  description?: string
  disable?: boolean
}
interface EditOptions {
  target?: string
  event?: EventType[]
  description?: string
  enable?: boolean
  disable?: boolean
}

const columns: Column<Webhook>[] = [
  { name: 'id', style: 'id', align: 'right', value: webhook => webhook.id },
  { name: 'url', style: 'title', value: webhook => webhook.url },
  { name: 'events', style: 'text', value: webhook => webhook.events },
  { name: 'enabled', value: webhook => webhook.enabled },
  { name: 'description', style: 'text', value: webhook => webhook.description },
  { name: 'disabledReason', header: 'WHY DISABLED', style: 'text', value: webhook => webhook.disabledReason },
  { name: 'createdBy', header: 'BY', style: 'text', value: webhook => makerOf(webhook) },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: webhook => webhook.createdAt },
]
/** The user or key whose permissions a webhook has. A deleted user or key is shown by its ID. */
const makerOf = ({ createdBy }: Webhook) =>
  createdBy &&
  (createdBy.displayName ?? `user ${createdBy.userId}`) +
    (createdBy.keyId === null ? '' : `, key ${createdBy.keyName ?? createdBy.keyId}`)
const newFields: Column<NewWebhook>[] = [
  { name: 'id', style: 'id', value: webhook => webhook.id },
  { name: 'url', style: 'title', value: webhook => webhook.url },
  { name: 'events', style: 'text', value: webhook => webhook.events },
  { name: 'secret', value: webhook => webhook.secret },
]
const eventOption = (text: string) => new Option('--event <event>', text).choices(webhookEvents).argParser(addEvent)

export function register(webhooks: Command): void {
  const list = webhooks
    .command('list')
    .summary('List webhooks')
    .description("List a project's webhooks. Their secrets are never shown again.")
    .action(async () => {
      const context = await openContext(list)
      await context.out.list(await context.client.webhooks.list({ projectId: (await context.project()).id }), columns, {
        empty: 'No webhooks. Create one: board webhooks create <url> --event card.moved',
      })
    })
  prints(list, 'webhooks.list')
  example(list, 'board webhooks list', "board webhooks list --jq '.[] | select(.enabled | not) | .disabledReason'")
  registerCreate(webhooks)
  registerEdit(webhooks)
  registerDelete(webhooks)
  registerRotate(webhooks)
  registerDeliveries(webhooks)
}

function registerCreate(webhooks: Command): void {
  const create = webhooks
    .command('create <url>')
    .summary('Send events to a URL')
    .description(
      'Send events of a project to a URL, signed as Standard Webhooks specifies. The secret that verifies them is shown once. With --quiet, only the secret is printed.',
    )
    .addOption(eventOption('event to send (repeatable)').makeOptionMandatory())
    .option('--description <text>', 'description')
    .option('--disable', 'create the webhook disabled')
    .action(async (url: string, { event, description, disable }: CreateOptions) => {
      const context = await openContext(create)
      const { id: projectId } = await context.project()
      await printNew(
        context,
        await makeOnce(context, 'board webhooks list', () =>
          context.client.webhooks.create({ projectId, url, events: event, description, enabled: !disable }),
        ),
      )
    })
  prints(create, 'webhooks.create')
  example(
    create,
    'board webhooks create https://example.com/hook --event card.moved',
    'board webhooks create https://example.com/hook --event card.created --event card.moved -q > hook.secret',
  )
}

/** Prints a secret once. With `--quiet`, prints nothing else, so that the output can be redirected to a file. */
async function printNew({ out }: Context, webhook: NewWebhook): Promise<void> {
  if (out.quiet && !out.json) return out.line(webhook.secret)
  out.done('Save the secret now. It is not shown again.')
  await out.record(webhook, newFields)
}

function addEvent(text: string, before: EventType[] | undefined): EventType[] {
  const event = webhookEvents.find(each => each === text)
  if (!event) throw new InvalidArgumentError(`must be one of ${webhookEvents.join(', ')}.`)
  return [...(before ?? []), event]
}

function registerEdit(webhooks: Command): void {
  const edit = webhooks
    .command('edit <webhook>')
    .summary('Change a webhook')
    .description(
      'Change the URL or the events of a webhook, or enable or disable it. Disabling it discards its pending deliveries. If you enable it, or change its URL or events, you become its owner, and it sends what you can read.',
    )
    .option('--target <url>', 'new URL')
    .addOption(eventOption('event to send, replacing the current events (repeatable)'))
    .option('--description <text>', 'description')
    .addOption(new Option('--enable', 'enable it').conflicts('disable'))
    .option('--disable', 'disable it')
    .action(async (wanted: string, { target, event, description, enable, disable }: EditOptions) => {
      if (target === undefined && !event && description === undefined && !enable && !disable)
        throw usage('nothing to change', {
          hint: 'specify --target, --event, --description, --enable or --disable',
          see: 'board webhooks edit --help',
        })
      const context = await openContext(edit)
      const place = await resolveWebhook(context, wanted)
      const edited = await context.client.webhooks.update({
        ...place,
        url: target,
        events: event,
        description,
        enabled: enable ? true : disable ? false : undefined,
      })
      await context.out.did(edited, `Edited webhook ${place.webhookId}.`)
    })
  prints(edit, 'webhooks.list')
  example(
    edit,
    'board webhooks edit 3 --event card.moved --event card.completed',
    'board webhooks edit 3 --target https://example.com/other',
    'board webhooks edit 3 --enable',
  )
}

function registerDelete(webhooks: Command): void {
  const command = webhooks
    .command('delete <webhook>')
    .summary('Delete a webhook')
    .description('Delete a webhook with its deliveries. Pending deliveries are not sent.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { url, ...place } = await resolveWebhook(context, wanted)
      await confirm(context, `Delete webhook ${place.webhookId} to ${url}?`, yes)
      await context.client.webhooks.delete(place)
      context.out.done(`Deleted webhook ${place.webhookId}.`)
    })
  example(command, 'board webhooks delete 3')
}

function registerRotate(webhooks: Command): void {
  const rotate = webhooks
    .command('rotate <webhook>')
    .summary('Replace the secret of a webhook')
    .description(
      'Replace the secret of a webhook. The new secret signs all later messages, and is shown once. With --quiet, only the secret is printed.',
    )
    .action(async (wanted: string) => {
      const context = await openContext(rotate)
      const { projectId, webhookId } = await resolveWebhook(context, wanted)
      await printNew(
        context,
        await makeOnce(context, 'board webhooks list', () => context.client.webhooks.rotate({ projectId, webhookId })),
      )
    })
  prints(rotate, 'webhooks.create')
  example(rotate, 'board webhooks rotate 3 -q > hook.secret')
}
