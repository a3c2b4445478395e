import { useId, type ComponentProps } from 'react'
import { client } from '../app/session.ts'
import { useSearch } from '../app/useSearch.ts'
import { TextInput } from './Inputs.tsx'

/** An input for a user's email, with a search by name. */
export function UserEmail(props: ComponentProps<typeof TextInput>) {
  const id = useId()
  const found = useSearch(props.value.trim(), q => client.users.search({ q }))
  return (
    <>
      <TextInput type="email" required list={id} {...props} />
      <datalist id={id}>
        {found?.map(({ email, displayName }) => (
          <option key={email} value={email}>
            {displayName}
          </option>
        ))}
      </datalist>
    </>
  )
}
