import type { ComponentType } from 'react'
import { hrefOf } from '../app/router.ts'
import { session } from '../app/session.ts'
import { mySettings } from '../app/settingNames.ts'
import { useStore } from '../app/store.ts'
import { Organizations } from '../admin/Organizations.tsx'
import { Agents } from '../admin/Agents.tsx'
import { Page } from '../ui/Page.tsx'
import { Sections } from '../ui/Sections.tsx'
import { Appearance } from './Appearance.tsx'
import { Keys } from './Keys.tsx'
import { Notifications } from './Notifications.tsx'
import { Password } from './Password.tsx'
import { Profile } from './Profile.tsx'
import { Shortcuts } from './Shortcuts.tsx'
import { SignIns } from './SignIns.tsx'

interface MySection {
  id: string
  label: string
  view: ComponentType
  /** Only for accounts: before the first user exists, the local operator has no account. */
  isOfAccount?: true
}

const sections: readonly MySection[] = [
  { id: 'profile', label: 'Profile', view: Profile },
  { id: 'appearance', label: 'Appearance', view: Appearance },
  { id: 'notifications', label: 'Notifications', view: Notifications },
  { id: 'shortcuts', label: 'Keyboard shortcuts', view: Shortcuts },
  { id: 'sign-ins', label: 'Sign-ins', view: SignIns, isOfAccount: true },
  { id: 'password', label: 'Password', view: Password, isOfAccount: true },
  { id: 'keys', label: 'API keys', view: Keys },
  { id: 'organizations', label: 'Organizations', view: Organizations, isOfAccount: true },
  { id: 'agents', label: 'Agents', view: Agents },
]

/** The settings of the account. */
export function MePage({ section = 'profile' }: { section?: string }) {
  const hasAccount = useStore(session, now => now.name === 'in' && now.me.id !== '0')
  const shown = sections.filter(({ isOfAccount }) => hasAccount || !isOfAccount)
  const { id, label, view: View } = shown.find(each => each.id === section) ?? shown[0]!
  return (
    <Page title="Settings">
      <Sections
        label="Settings"
        current={id}
        sections={shown.map(({ id, label }) => ({
          id,
          label,
          href: hrefOf({ name: 'me', section: id }),
          settings: mySettings[id],
        }))}
      >
        <h2>{label}</h2>
        <View />
      </Sections>
    </Page>
  )
}
