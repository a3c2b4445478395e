import { Option, type Command } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { runBulk } from '../../input/bulk.ts'
import { openContext, type Context } from '../../context/context.ts'
import { exits, Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { addNewestOptions, printNewest, type NewestOptions } from '../../requests/cursorList.ts'
import type { Column } from '../../output/output.ts'
import { resolveWebhook, type WebhookPlace } from '../../context/resolve.ts'

type Delivery = Output<Contract['webhooks']['test']>
type Status = Delivery['status']
interface ListOptions extends NewestOptions {
  status?: Status
}

const statuses: Status[] = ['pending', 'succeeded', 'failed']
const askEveryMs = 200
const usualTimeoutSecs = 30

const columns: Column<Delivery>[] = [
  { name: 'id', style: 'id', align: 'right', value: delivery => delivery.id },
  { name: 'type', value: delivery => delivery.type },
  { name: 'status', style: 'status', value: delivery => delivery.status },
  { name: 'attempts', align: 'right', value: delivery => delivery.attempts },
  { name: 'responseStatus', header: 'ANSWER', align: 'right', value: delivery => delivery.responseStatus },
  { name: 'durationMs', header: 'MS', align: 'right', value: delivery => delivery.durationMs },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: delivery => delivery.createdAt },
  { name: 'nextAttemptAt', header: 'NEXT', style: 'time', value: delivery => delivery.nextAttemptAt },
  { name: 'error', style: 'text', value: delivery => delivery.error },
  { name: 'messageId', hidden: true, value: delivery => delivery.messageId },
  { name: 'request', hidden: true, value: delivery => delivery.request },
  { name: 'responseBody', hidden: true, value: delivery => delivery.responseBody },
]

export function registerDeliveries(webhooks: Command): void {
  const test = webhooks
    .command('test <webhook>')
    .summary('Send a test message')
    .description('Send a webhook.test message before all pending deliveries.')
    .option(
      '-w, --wait',
      'wait for the first attempt, for up to --timeout (default: 30); exit with 1 unless it succeeded',
    )
    .action(async (wanted: string, { wait }: { wait?: boolean }) => {
      const context = await openContext(test)
      const { projectId, webhookId } = await resolveWebhook(context, wanted)
      const delivery = await context.client.webhooks.test({ projectId, webhookId })
      if (wait) return reportDelivery(context, await waitForAttempt(context, { projectId, webhookId }, delivery))
      context.out.done(`Sending delivery ${delivery.id}; to see the result: board webhooks deliveries ${webhookId}`)
      await context.out.record(delivery, columns.slice(0, 3))
    })
  prints(test, 'webhooks.deliveries')
  example(test, 'board webhooks test 3 --wait')

  const list = webhooks
    .command('deliveries <webhook>')
    .summary('List deliveries of a webhook')
    .description(
      'List the deliveries of a webhook, newest first. The server keeps deliveries for 30 days after they succeed or fail.',
    )
    .addOption(new Option('-s, --status <status>', 'show only deliveries with this status').choices(statuses))
    .action(async (wanted: string, { status, ...newest }: ListOptions) => {
      const context = await openContext(list)
      const { projectId, webhookId } = await resolveWebhook(context, wanted)
      await printNewest(
        context.out,
        newest,
        asked => context.client.webhooks.deliveries({ projectId, webhookId, status, ...asked }),
        columns,
        { one: 'delivery', many: 'deliveries' },
      )
    })
  prints(list, 'webhooks.deliveries')
  example(
    addNewestOptions(list, 50, 'deliveries'),
    'board webhooks deliveries 3',
    'board webhooks deliveries 3 --status failed --json id,error,responseBody',
  )
  registerRedeliver(webhooks)
}

function registerRedeliver(webhooks: Command): void {
  const redeliver = webhooks
    .command('redeliver <webhook> <deliveries...>')
    .summary('Resend messages')
    .description('Resend messages with the same webhook-id. - reads IDs from stdin.')
    .action(async (wanted: string, ids: string[]) => {
      const context = await openContext(redeliver)
      const { projectId, webhookId } = await resolveWebhook(context, wanted)
      await runBulk(
        context,
        ids,
        deliveryId => context.client.webhooks.redeliver({ projectId, webhookId, deliveryId }),
        {
          verb: 'queued',
          label: 'Queueing',
        },
      )
    })
  prints(redeliver, null, 'id result error')
  example(
    redeliver,
    'board webhooks redeliver 3 1204',
    'board webhooks deliveries 3 --status failed --all -q | board webhooks redeliver 3 -',
  )
}

/** @throws Failure (timed out) */
async function waitForAttempt(
  { client, globals: { timeout = usualTimeoutSecs } }: Context,
  place: WebhookPlace,
  delivery: Delivery,
): Promise<Delivery> {
  const giveUpAtMs = performance.now() + timeout * 1000
  let latest = delivery
  while (latest.attempts === 0 && latest.status === 'pending') {
    if (performance.now() > giveUpAtMs)
      throw new Failure(
        'timedOut',
        `timed out after ${timeout} s; delivery ${delivery.id} is still waiting for its first attempt`,
        { see: `board webhooks deliveries ${place.webhookId}` },
      )
    await delay(askEveryMs)
    const {
      items: [found],
    } = await client.webhooks.deliveries({ ...place, cursor: Number(delivery.id) + 1, limit: 1 })
    if (found?.id !== delivery.id) throw new Failure('failure', `delivery ${delivery.id} was deleted`)
    latest = found
  }
  return latest
}

async function reportDelivery({ out }: Context, delivery: Delivery): Promise<void> {
  out.done(
    delivery.status === 'succeeded'
      ? `The receiver accepted the message with status ${delivery.responseStatus}.`
      : (delivery.error ?? 'The receiver rejected the message.'),
  )
  await out.record(delivery, columns)
  if (delivery.status !== 'succeeded') process.exitCode = exits.failure
}
