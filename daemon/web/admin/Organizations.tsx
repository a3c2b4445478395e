import { organizationLabel } from '../../../src/boardModel/organizationLabel.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { OrganizationPanel } from './OrganizationPanel.tsx'

/** The organizations of the person, with their members and projects. */
export function Organizations() {
  const loaded = useLoad(() => client.organizations.list(), [])
  const { values, bind, setValues } = useFields({ name: '' })
  const make = async () => {
    await client.organizations.create(values)
    setValues({ name: '' })
    await loaded.reload()
  }
  return (
    <>
      <p>The members of an organization can see all of its projects.</p>
      <Await of={loaded}>
        {all => (
          <>
            {all.length === 0 && <p>You are not a member of an organization.</p>}
            {all.map(organization => (
              <OrganizationPanel
                key={organization.id}
                organization={organization}
                label={organizationLabel(organization, all)}
                reload={loaded.reload}
              />
            ))}
          </>
        )}
      </Await>
      <Form submit="Create" onSubmit={make}>
        <TextInput label="New organization" required {...bind('name')} />
      </Form>
    </>
  )
}
