import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showError, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { notificationPermission, playSound } from '../home/notify.ts'
import { Button } from '../ui/Button.tsx'
import { GroupedChecks } from '../ui/GroupedChecks.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Await } from '../ui/Page.tsx'
import { showSecret } from '../ui/showSecret.tsx'

type Settings = Output<Contract['notifications']['get']>

const groups = [
  {
    label: 'Agents',
    options: [
      ['agentWaiting', 'An agent waits for an answer'],
      ['agentFailed', 'An agent fails'],
      ['agentCompleted', 'An agent finishes'],
    ],
  },
  {
    label: 'Cards and comments',
    options: [
      ['mentioned', 'Someone mentions me in a comment'],
      ['commented', 'Someone comments on a card that I watch'],
      ['assigned', 'Someone assigns a card to me'],
      ['due', 'A card that I watch is due'],
    ],
  },
  {
    label: 'Projects',
    options: [
      ['monitorFailing', 'A monitor fails'],
      ['scheduleDisabled', 'A schedule can no longer create its cards'],
      ['budget', 'A budget reaches 80% or is used up'],
    ],
  },
] as const
const kinds = groups.flatMap(({ options }) => options.map(([kind]) => kind))

/** The events that send notifications, and the channels. */
export function Notifications() {
  const loaded = useLoad(() => client.notifications.get(), [])
  const change = async (part: Partial<Settings>) => {
    const { webhookSecret, ...next } = await client.notifications.set(part)
    loaded.set(next)
    if (webhookSecret !== undefined)
      showSecret({
        title: 'Webhook secret',
        label: 'Secret',
        value: webhookSecret,
        hint: 'The receiver verifies signatures with this secret. It is shown only once.',
      })
  }
  return (
    <Await of={loaded}>
      {mine => (
        <>
          <GroupedChecks
            label="Notify me when"
            isOpen
            groups={groups}
            value={kinds.filter(kind => mine[kind])}
            onChange={chosen =>
              void change(Object.fromEntries(kinds.map(kind => [kind, chosen.includes(kind)]))).catch(showError)
            }
          />
          <fieldset className="choices">
            <legend>Channels</legend>
            <Check
              label="System notifications"
              hint="Shown by the browser while the tab is hidden, and by the terminal board if the terminal supports notifications."
              value={mine.desktop}
              onChange={isOn => void change({ desktop: isOn }).catch(showError)}
            />
            {mine.desktop && <Permission />}
            <Check
              label="Sound"
              value={mine.sound}
              onChange={isOn => {
                if (isOn) playSound()
                void change({ sound: isOn }).catch(showError)
              }}
            />
          </fieldset>
          <Webhook key={mine.webhookUrl} url={mine.webhookUrl} change={change} />
        </>
      )}
    </Await>
  )
}

/** Asks for the browser's permission. Browsers require a click. */
function Permission() {
  const [state, setState] = useState(notificationPermission)
  if (state === 'granted') return <p className="hint">This browser shows notifications.</p>
  if (state === 'denied')
    return (
      <p className="hint">
        Notifications are blocked in this browser. Allow them in the browser’s settings for this page.
      </p>
    )
  if (state === 'unsupported')
    return <p className="hint">Browsers don’t show notifications for pages over plain HTTP from another machine.</p>
  return (
    <div className="tools">
      <Button
        icon="bell"
        onClick={async () => {
          setState(await Notification.requestPermission())
        }}
      >
        Allow notifications
      </Button>
    </div>
  )
}

function Webhook({ url, change }: { url: string | null; change: (part: Partial<Settings>) => Promise<void> }) {
  const [text, setText] = useState(url ?? '')
  const save = async () => {
    await change({ webhookUrl: text.trim() === '' ? null : text.trim() })
    showMessage(text.trim() === '' ? 'Removed the webhook.' : 'Saved the webhook.')
  }
  return (
    <Form submit="Save webhook" onSubmit={save}>
      <Field
        label="Webhook"
        hint="A URL that receives each notification as a signed POST. The secret of a new URL is shown once."
        field="webhookUrl"
      >
        {props => (
          <input
            {...props}
            type="url"
            placeholder="https://example.org/board"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </Form>
  )
}
