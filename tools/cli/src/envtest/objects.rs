//! The objects that kube-apiserver writes while it runs, as it has them at its start.

use std::net::{IpAddr, UdpSocket};

use fieldmanager_apiserver::ApiServer;
use fieldmanager_value::Value;

use crate::args::ServeArgs;
use crate::error::Failure;
use crate::files::Files;

/// The objects, with the parts that differ by server.
const OBJECTS: &str = "
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: extension-apiserver-authentication, namespace: kube-system}
  data: {client-ca-file: $AUTHORITY}
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata:
    name: apiserver-fieldmanager
    namespace: kube-system
    labels: {apiserver.kubernetes.io/identity: kube-apiserver}
  spec: {holderIdentity: apiserver-fieldmanager, leaseDurationSeconds: 3600, renewTime: $TIME}
- apiVersion: v1
  kind: Endpoints
  metadata: {name: kubernetes, namespace: default, labels: {endpointslice.kubernetes.io/skip-mirror: 'true'}}
  subsets: [{addresses: [{ip: '$ADDRESS'}], ports: [{name: https, port: $PORT, protocol: TCP}]}]
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
  addressType: IPv4
  endpoints: [{addresses: ['$ADDRESS'], conditions: {ready: true}}]
  ports: [{name: https, port: $PORT, protocol: TCP}]
";

/// Creates the objects. Those that exist stay: they are of an earlier server with the same store.
///
/// # Errors
///
/// If the file of the authorities cannot be read.
pub(super) async fn create(
    server: &ApiServer,
    args: &ServeArgs,
    files: Files,
    port: u16,
) -> Result<(), Failure> {
    let authority = match &args.client_ca_file {
        Some(path) => Value::from(files.text(path)?.as_str()),
        None => Value::from(""),
    };
    let time = format!("{:.6}", jiff::Timestamp::now());
    let text = OBJECTS
        .replace("$AUTHORITY", &authority.to_json())
        .replace("$TIME", &Value::from(time.as_str()).to_json())
        .replace("$ADDRESS", &address(args.listen).to_string())
        .replace("$PORT", &port.to_string());

    let objects = Value::from_yaml(&text).map_err(|error| Failure::Other(error.to_string()))?;
    for object in objects.as_list().into_iter().flat_map(|list| list.iter()) {
        // A machine without an address that others can reach has no endpoints.
        if let Err(error) = server.load(object).await {
            tracing::debug!(%error, "an object of the start is missing");
        }
    }
    Ok(())
}

/// The address of the server for others: endpoints are on no loopback interface.
fn address(listen: IpAddr) -> IpAddr {
    if !listen.is_loopback() && !listen.is_unspecified() {
        return listen;
    }
    // Finds the route to an address that is for documentation, and sends nothing.
    let route = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    route.map_or(listen, |address| address.ip())
}
