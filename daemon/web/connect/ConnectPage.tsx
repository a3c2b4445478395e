import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { AppAccess } from '../../../src/contract/oauth.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { announce } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Choice, useFields } from '../ui/Inputs.tsx'
import { Await, Failure, Page } from '../ui/Page.tsx'

type Asked = Output<Contract['oauth']['request']>

const accessTexts: Record<AppAccess, readonly [text: string, hint: string]> = {
  read: ['Read only', 'Cards, what agents said, and what they changed.'],
  work: ['Read, and work on cards', 'Make, change, move and delete cards, and comment on them. No agent starts.'],
  run: ['All that, and run agents', 'Start, steer and stop agents, push and merge what they did.'],
}

/** The question whether an app may work in the name of whoever is signed in. Nothing is allowed before a button is pressed. */
export function ConnectPage({ request }: { request: string }) {
  const asked = useLoad(() => client.oauth.request({ request }), [request])
  const [isDone, setDone] = useState(false)
  return (
    <Page title="Connect an app">
      {isDone ? (
        <p>
          Your answer went to the app, and you can close this tab. What is connected stands among{' '}
          <a href={hrefOf({ name: 'me', section: 'keys' })}>your API keys</a>, where you can revoke it.
        </p>
      ) : isOver(asked.error) ? (
        <Failure error={asked.error} />
      ) : (
        <Await of={asked}>{known => <Question asked={known} request={request} onDone={() => setDone(true)} />}</Await>
      )}
    </Page>
  )
}

function Question({ asked, request, onDone }: { asked: Asked; request: string; onDone: () => void }) {
  const all = useStore(projects) ?? []
  const email = useStore(session, now => (now.name === 'in' ? now.me.email : ''))
  const { values, bind } = useFields<{ access: AppAccess; projectId: string }>({ access: 'read', projectId: '' })
  const leave = ({ redirectTo }: { redirectTo: string }) => {
    onDone()
    announce('Your answer went to the app.')
    location.assign(redirectTo)
  }
  return (
    <>
      <p>
        An app that calls itself <strong className="name">{asked.name}</strong> wants to use this board
        {email !== '' && (
          <>
            {' '}
            as <strong>{email}</strong>
          </>
        )}
        . The answer goes to <strong className="name">{asked.leadsTo}</strong> ({placeText(asked.leadsTo)}).
      </p>
      <p>Allow it only if you have just asked that app to connect to the board. Anybody can give an app any name.</p>
      <Choice
        label="It may"
        hint={accessTexts[values.access][1]}
        options={asked.access.map(access => [access, accessTexts[access][0]] as const)}
        {...bind('access')}
        field="access"
      />
      <Choice
        label="It may do so in"
        options={[['', 'All that I may see'], ...all.map(({ id, name }) => [id, name] as const)]}
        {...bind('projectId')}
        field="projectId"
      />
      <div className="tools">
        <Button
          isMain
          onClick={async () =>
            leave(
              await client.oauth.approve({
                request,
                access: values.access,
                projectId: values.projectId === '' ? undefined : values.projectId,
              }),
            )
          }
        >
          Allow
        </Button>
        <Button onClick={async () => leave(await client.oauth.refuse({ request }))}>Refuse</Button>
      </div>
    </>
  )
}

/** Whether only the app itself can begin anew. */
const isOver = (error: unknown): boolean =>
  error instanceof ApiFailure && ['APP_REQUEST_ENDED', 'APP_UNKNOWN'].includes(error.code)

/** What a place is, for people who do not read addresses. */
function placeText(leadsTo: string): string {
  if (leadsTo.startsWith('https:')) return 'a site on the Internet'
  return leadsTo.startsWith('http:') ? 'a program on this computer' : 'a program that opens such addresses'
}
