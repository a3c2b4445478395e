import { loadProjects } from '../app/projects.ts'
import { navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Await, Page } from '../ui/Page.tsx'
import { InvitationText, useInvitation } from './Invitation.tsx'

/** Accepts an invitation to a project as the signed-in user. */
export function InvitationPage({ token }: { token: string }) {
  const loaded = useInvitation(token)
  const accept = async () => {
    const { id } = await client.invitations.accept({ token })
    await loadProjects()
    navigate({ name: 'board', projectId: id }, { replace: true })
  }
  return (
    <Page title="Invitation">
      <Await of={loaded}>
        {invitation =>
          invitation && (
            <div className="panel">
              <InvitationText invitation={invitation} />
              <p className="hint">The invitation is for {invitation.email}.</p>
              <div className="tools">
                <Button isMain onClick={accept}>
                  Accept
                </Button>
              </div>
            </div>
          )
        }
      </Await>
    </Page>
  )
}
