import { loadProjects } from '../app/projects.ts'
import { navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Page } from '../ui/Page.tsx'

/** Accepts an invitation to a project as the signed-in user. */
export function InvitationPage({ token }: { token: string }) {
  const accept = async () => {
    const { id } = await client.invitations.accept({ token })
    await loadProjects()
    navigate({ name: 'board', projectId: id }, { replace: true })
  }
  return (
    <Page title="Invitation">
      <p>You are invited to a project. After you accept, you can see its boards and agents.</p>
      <div className="tools">
        <Button isMain onClick={accept}>
          Accept
        </Button>
      </div>
    </Page>
  )
}
