import type { JSX } from 'preact';
import { mayDo, type Person } from '../page/page-parts.tsx';
import { EngineTable } from '../../features/engines/web/engine-table.tsx';
import { EndpointTable } from '../../features/notifications/web/endpoint-table.tsx';
import { UserTable } from '../../features/people/web/user-table.tsx';
import { DoctorList } from './doctor-list.tsx';
import { SettingTable } from './setting-table.tsx';

/** Who is signed in and, for administrators, users, endpoints, the configuration and checks. Changes nothing. */
export function SettingsScreen({ person }: { person: Person }): JSX.Element {
  return (
    <>
      <h1>Settings</h1>
      <p>
        Signed in as <strong>{person.name}</strong>, {person.role}
      </p>
      {mayDo(person, 'administer') ? (
        <>
          <UserTable />
          <EngineTable />
          <EndpointTable />
          <SettingTable />
          <DoctorList />
        </>
      ) : (
        <p class="soft">
          Only administrators see users, notifications, the configuration and the checks of the server.
        </p>
      )}
    </>
  );
}
